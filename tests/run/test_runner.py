"""A RunSpec becomes records; a past becomes the very same continuation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.errors import TraceError, UserError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import DataRef, EndReason, EndRecord, ResumeRecord, RunSpec, Status, TrialRecord
from cfo_bench.results import trace
from cfo_bench.results.trace import Trace
from cfo_bench.run import runner
from cfo_bench.run.header import method_seed
from cfo_bench.run.job import Job
from cfo_bench.run.live_page import LivePage

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"


def spec(method: str = "cfo", parallel: int = 1, **changes: Any) -> RunSpec:
    options = METHODS.options(method, {})
    if "parallel" in options:
        options["parallel"] = parallel
    made = RunSpec(
        learner="synthetic",
        task="synthetic-1k",
        method=method,
        fold=0,
        budget_seconds=1e9,
        max_trials=60,
        options=options,
        parallel=parallel,
        clock="virtual",
    )
    return replace(made, **changes)


@pytest.fixture
def live(tmp_path: Path):
    page = LivePage.own(tmp_path / "t.live")
    page.clear()
    yield page
    page.close(remove=True)


def run(wanted: RunSpec, live: LivePage, past: Trace | None = None) -> list[Any]:
    """The records of a run; each trial is taken off the page, as who writes the trace does."""
    job = Job(wanted, DataRef("synthetic-1k", "synthetic"), Path("t.jsonl"), {"machine": {"cpu": "of here"}})
    records = []
    for record in runner.run(job, past, live, "it was interrupted"):
        if isinstance(record, TrialRecord):
            live.remove(record.number)
        records.append(record)
    return records


def test_a_run_is_a_header_its_trials_and_an_end(live: LivePage):
    header, *trials, end = run(spec(), live)
    assert (
        header["kind"] == "run"
        and header["spec"]["method"] == "cfo"
        and header["machine"]["cpu"] == "of here"
    )
    assert [one.number for one in trials] == list(range(60))
    assert isinstance(end, EndRecord) and (end.reason, end.trials) == (EndReason.MAX_TRIALS, 60)
    best = min(trials, key=lambda one: one.loss)
    assert (end.best_loss, end.best_score, end.best_number) == (best.loss, best.score, best.number)
    assert end.elapsed == trials[-1].ended


def test_the_header_says_what_is_needed_to_run_it_again(live: LivePage):
    header = run(spec(), live)[0]
    assert header["schema"] == trace.SCHEMA_VERSION
    assert header["method_seed"] == method_seed(spec())
    assert header["spec"]["options"] == spec().options
    assert len(header["space"]) == 9 and header["start"]["n_estimators"] == 4
    assert header["data"]["rows"] == 1000 and len(header["data"]["sha256"]) == 64
    assert header["command"].startswith("cfo-bench run --task synthetic-1k --method cfo")
    assert {"metric", "problem", "constant_loss", "utc", "cost_related"} <= header.keys()


def test_a_run_repeats_byte_for_byte(live: LivePage):
    first, second = run(spec(), live), run(spec(), live)
    assert [trace.encode(one) for one in first[1:]] == [trace.encode(one) for one in second[1:]]


def test_folds_draw_different_numbers():
    assert method_seed(spec(fold=0)) != method_seed(spec(fold=1))
    assert method_seed(spec(seed=0)) != method_seed(spec(seed=1))


@pytest.mark.parametrize(
    ("method", "parallel"), [("cfo", 1), ("cfo", 3), ("cfo-0", 1), ("flow2", 1), ("rs", 1), ("rs", 4)]
)
def test_a_run_cut_off_after_any_trial_goes_on_as_if_it_had_not_been(
    live: LivePage, method: str, parallel: int
):
    wanted = spec(method, parallel)
    header, *trials, end = run(wanted, live)
    for kept in range(61):
        resume, *rest, last = run(wanted, live, Trace(header, trials[:kept], None))
        assert isinstance(resume, ResumeRecord)
        assert resume.trials == kept and resume.why == "it was interrupted"
        assert rest == trials[kept:], f"cut off after {kept} trials"
        assert last == end


def test_a_budget_that_is_spent_ends_a_resumed_run_at_once(live: LivePage):
    wanted = spec(budget_seconds=0.5, max_trials=None)
    header, *trials, end = run(wanted, live)
    assert end.reason is EndReason.BUDGET
    _, last = run(wanted, live, Trace(header, trials, None))
    assert last == end


def test_a_trace_that_the_method_would_not_have_made_is_refused(live: LivePage):
    header, *trials, _ = run(spec(), live)
    config = {**trials[5].config, "max_leaves": trials[5].config["max_leaves"] + 1}
    trials[5] = trials[5]._replace(config=config)
    with pytest.raises(TraceError, match=r"trial 5 of the trace is not what method 'cfo' asks for.*--force"):
        run(spec(), live, Trace(header, trials, None))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"budget_seconds": 7.0}, "budget_seconds"),
        ({"max_trials": None}, "max_trials"),
        ({"options": {**spec().options, "n_threshold": 5}}, "option n_threshold"),
        ({"trial_timeout_seconds": 3.0}, "trial_timeout_seconds"),
        ({"threads": 2}, "threads"),
    ],
)
def test_a_past_of_another_spec_is_refused_and_says_what_differs(
    live: LivePage, change: dict[str, Any], words: str
):
    header, *trials, _ = run(spec(), live)
    with pytest.raises(TraceError, match=rf"is of another run.*{words}.*--force"):
        run(replace(spec(), **change), live, Trace(header, trials, None))


def test_a_past_on_other_data_is_refused(live: LivePage):
    header, *trials, _ = run(spec(), live)
    other = {**header, "data": {**header["data"], "sha256": "0" * 64}}
    with pytest.raises(TraceError, match="data 000000000000… there"):
        run(spec(), live, Trace(other, trials, None))


def test_another_memory_cap_is_no_other_run(live: LivePage):
    header, *trials, _ = run(spec(), live)
    assert len(run(spec(memory_mb=99), live, Trace(header, trials[:50], None))) == 12


def test_a_method_that_fails_ends_the_run_with_its_reason(live: LivePage):
    method = f"{PLUGINS / 'methods.py'}:RaisesInAsk"
    _, *trials, end = run(spec(method, options={"at": 3}), live)
    assert len(trials) == 3 and all(isinstance(one, TrialRecord) for one in trials)
    assert end.reason is EndReason.ERROR and "RuntimeError: no idea" in end.error


def test_a_trial_is_on_the_page_with_its_result_when_its_record_comes(live: LivePage):
    job = Job(spec(), DataRef("synthetic-1k", "synthetic"), Path("t.jsonl"))
    for record in runner.run(job, None, live):
        if isinstance(record, TrialRecord):
            untold = record._replace(tell_seconds=None)
            assert (live.trials().evaluated, live.trials().started) == ([untold], [])
            live.remove(record.number)


def test_a_learner_with_analytic_seconds_needs_the_virtual_clock_and_no_other_may_have_it(live: LivePage):
    with pytest.raises(UserError, match="--clock virtual"):
        run(spec(clock="wall"), live)
    learner = f"{PLUGINS / 'learners.py'}:Faulty"
    with pytest.raises(UserError, match="--clock virtual needs analytic seconds"):
        run(spec(learner=learner), live)


def test_a_learner_that_is_not_for_the_problem_is_refused_before_the_first_record(live: LivePage):
    learner = f"{PLUGINS / 'learners.py'}:Classifier"
    with pytest.raises(UserError, match=r"regression.*takes binary only"):
        run(spec(learner=learner, clock="wall"), live)


def test_a_real_trial_is_on_the_wall_clock_and_its_zero_on_the_page(live: LivePage):
    learner = f"{PLUGINS / 'learners.py'}:Faulty"
    wanted = spec("rs", learner=learner, clock="wall", max_trials=3, memory_mb=None)
    _, *trials, end = run(wanted, live)
    assert live.snapshot().zero is not None
    assert all(one.ended - one.started >= 0.01 for one in trials)
    assert all(one.status is Status.OK and one.peak_memory_mb > 10 for one in trials)
    assert end.elapsed >= 0.03
