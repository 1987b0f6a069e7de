"""A job becomes records: a header, its trials, and an end."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from cfo_bench.errors import DataError, UserError
from cfo_bench.records import DataRef, EndReason, Status
from cfo_bench.results.schema import DataIdentity, EndRecord, Header, OwnCode, TrialRecord, encode
from cfo_bench.run import runner
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage
from tests.helpers.runs import RunRecords, spec

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"


def test_a_run_is_a_header_its_trials_and_an_end(run: RunRecords) -> None:
    header, *trials, end = run(spec())
    assert isinstance(header, Header)
    assert header.spec == spec() and header.machine is not None and header.machine.cpu == "of here"
    assert [one.number for one in trials] == list(range(60))
    assert isinstance(end, EndRecord) and (end.reason, end.trials) == (EndReason.MAX_TRIALS, 60)
    best = min(trials, key=lambda one: one.loss)
    assert (end.best_loss, end.best_score, end.best_number) == (best.loss, best.score, best.number)
    assert end.elapsed == trials[-1].ended


def test_a_run_repeats_byte_for_byte(run: RunRecords) -> None:
    first, second = run(spec()), run(spec())
    assert [encode(one) for one in first[1:]] == [encode(one) for one in second[1:]]


def test_a_method_that_fails_ends_the_run_with_its_reason(run: RunRecords) -> None:
    method = f"{PLUGINS / 'methods.py'}:RaisesInAsk"
    _, *trials, end = run(spec(method, options={"at": 3}))
    assert len(trials) == 3 and all(isinstance(one, TrialRecord) for one in trials)
    assert end.reason is EndReason.ERROR and "RuntimeError: no idea" in end.error


def test_a_trial_is_on_the_page_with_its_result_when_its_record_comes(page: LivePage) -> None:
    job = Job(spec(), DataRef("synthetic-1k", "synthetic"), Path("t.jsonl"))
    for record in runner.run(job, None, page):
        if isinstance(record, TrialRecord):
            untold = msgspec.structs.replace(record, tell_seconds=None)
            assert (page.trials().evaluated, page.trials().started) == ([untold], [])
            page.remove(record.number)


def test_no_deadline_holds_while_the_end_is_written(page: LivePage) -> None:
    learner = f"{PLUGINS / 'learners.py'}:Faulty"
    wanted = spec("rs", learner=learner, clock="wall", max_trials=2, memory_mb=None)
    job = Job(wanted, DataRef("synthetic-1k", "synthetic"), Path("t.jsonl"))
    running = []
    for record in runner.run(job, None, page):
        if isinstance(record, TrialRecord):
            page.remove(record.number)
        running.append(page.snapshot().zero is not None)
    header, *trials, end = running
    assert (header, set(trials), end) == (False, {True}, False)
    assert page.snapshot().zero is not None  # a process that hangs after its end is killed in time


def test_a_run_whose_data_is_not_what_the_command_looked_at_is_refused(page: LivePage) -> None:
    data = DataRef("synthetic-1k", "synthetic")
    other = Job(spec(), data, Path("t.jsonl"), data_identity=DataIdentity(sha256="0" * 64))
    with pytest.raises(DataError, match=r"data of task 'synthetic-1k' has changed .*data 000000000000… then"):
        next(runner.run(other, None, page))


def test_a_run_whose_file_is_not_what_the_command_looked_at_is_refused(page: LivePage) -> None:
    wanted = spec(f"{PLUGINS / 'methods.py'}:Draws")
    code = OwnCode(method="0" * 64)
    other = Job(wanted, DataRef("synthetic-1k", "synthetic"), Path("t.jsonl"), own_code=code)
    with pytest.raises(UserError, match=r"methods.py has changed since the command .*\(000000000000… then"):
        next(runner.run(other, None, page))


def test_a_learner_with_analytic_seconds_needs_the_virtual_clock_and_no_other_may_have_it(
    run: RunRecords,
) -> None:
    with pytest.raises(UserError, match="--clock wall: learner 'synthetic' does not train"):
        run(spec(clock="wall"))
    learner = f"{PLUGINS / 'learners.py'}:Faulty"
    with pytest.raises(UserError, match="so that its seconds are real"):
        run(spec(learner=learner))


def test_a_learner_that_is_not_for_the_problem_is_refused_before_the_first_record(run: RunRecords) -> None:
    learner = f"{PLUGINS / 'learners.py'}:Classifier"
    with pytest.raises(UserError, match=r"regression.*takes binary only"):
        run(spec(learner=learner, clock="wall"))


def test_a_real_trial_is_on_the_wall_clock_and_its_zero_on_the_page(run: RunRecords, page: LivePage) -> None:
    learner = f"{PLUGINS / 'learners.py'}:Faulty"
    wanted = spec("rs", learner=learner, clock="wall", max_trials=3, memory_mb=None)
    _, *trials, end = run(wanted)
    assert page.snapshot().zero is not None
    assert all(one.ended - one.started >= 0.01 for one in trials)
    assert all(one.status is Status.OK and one.peak_memory_mb > 10 for one in trials)
    assert end.elapsed >= 0.03
