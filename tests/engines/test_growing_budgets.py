"""Runs that are asked for again with other limits: they go on, or a part of them is read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from cfo_bench import Suite, load_results, run_suite, write_report
from cfo_bench.engines.suite_runs import Event, Note, RunsStarted, runs_of
from cfo_bench.errors import UserError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import EndReason, RunLimits, RunStatus, Status, run_id
from cfo_bench.report.reading.consistency import comparable
from cfo_bench.report.reading.imported import as_if_ended
from cfo_bench.report.reading.load import load
from cfo_bench.results import status as plan
from cfo_bench.results.digest import digest_of
from cfo_bench.results.folder import PAGE_SUFFIX
from cfo_bench.results.merge import merge
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.status import remaining, status
from cfo_bench.results.summary import summarise
from cfo_bench.run.page import LivePage
from cfo_bench.suite.choices import Choice
from tests.helpers.program import ROOT


def suite(results: Path, methods: list[Any], **changes: Any) -> Suite:
    asked = Suite(
        learners=["synthetic-5d"],
        tasks=["synthetic-1k"],
        methods=methods,
        folds="0",
        budget_seconds=4,
        clock="virtual",
        results=results,
    )
    return replace(asked, **changes)


def lines_of(results: Path, method: str) -> list[bytes]:
    (path,) = results.glob(f"*/*/{method}/*.jsonl")
    return path.read_bytes().splitlines()


def counted(lines: list[bytes]) -> list[bytes]:
    """The trials that count, as docs/trace.md says."""
    found: list[bytes] = []
    for line in lines:
        row = orjson.loads(line)
        if row["kind"] == "trial":
            found.append(line)
        elif row["kind"] == "resume" and row["superseded"]:
            found = found[: -row["superseded"]]
    return found


def end_of(lines: list[bytes]) -> dict[str, Any]:
    """The end without its checksums: the superseded lines are part of them."""
    row: dict[str, Any] = orjson.loads(lines[-1])
    return {key: value for key, value in row.items() if not key.endswith("crc32")}


def assert_same_run(grown: Path, whole: Path, method: str) -> None:
    ours, theirs = lines_of(grown, method), lines_of(whole, method)
    assert counted(ours) == counted(theirs)
    assert end_of(ours) == end_of(theirs)


FAST = ("cfo", "cfo-0", "flow2", "rs", "tpe")


def can_grow(name: str) -> bool:
    row = METHODS.builtin[name]
    if row.missing is not None or row.learner is not None or name == "study":
        return False
    cls = METHODS.load(name)
    return getattr(cls, "replays", True) and not getattr(cls, "knows_budget", False)


@pytest.mark.parametrize(
    "methods",
    [
        pytest.param(FAST, id="fast methods"),
        *(
            pytest.param((name,), id=name, marks=pytest.mark.slow)
            for name in METHODS.builtin
            if name not in FAST
        ),
    ],
)
def test_a_run_that_was_given_a_longer_budget_is_the_run_that_had_it_from_the_start(
    tmp_path: Path, methods: tuple[str, ...]
) -> None:
    if not all(map(can_grow, methods)):
        pytest.skip("not a method whose runs can grow")
    short = suite(tmp_path / "grown", list(methods), budget_seconds=0.05)

    run_suite(short)
    before = {name: lines_of(tmp_path / "grown", name) for name in methods}
    outcome = run_suite(replace(short, budget_seconds=0.5))
    run_suite(replace(short, budget_seconds=0.5, results=tmp_path / "whole"))

    assert [verdict.outcome for verdict in outcome.verdicts] == [RunStatus.DONE] * len(methods)
    for name in methods:
        assert_same_run(tmp_path / "grown", tmp_path / "whole", name)
        grown = lines_of(tmp_path / "grown", name)
        assert grown[: len(before[name])] == before[name]  # no line is changed
        resumes = [orjson.loads(line) for line in grown if line.startswith(b'{"kind":"resume"')]
        assert [row["limits"] for row in resumes] == [{"budget_seconds": 0.5, "max_trials": None}]
        assert resumes[0]["why"] == "its budget of 0.05 s was over"


@pytest.mark.parametrize(
    ("first", "then", "last"),
    [
        pytest.param(
            {"budget_seconds": 1e6, "max_trials": 11},
            {"budget_seconds": 1e6, "max_trials": 23},
            {"budget_seconds": 1e6, "max_trials": 40},
            id="more trials",
        ),
        pytest.param(
            {"budget_seconds": 5.0}, {"budget_seconds": 20.0}, {"budget_seconds": 60.0}, id="longer budgets"
        ),
        pytest.param(
            {"budget_seconds": 5.0},
            {"budget_seconds": 1e6, "max_trials": 20},
            {"budget_seconds": 60.0},
            id="both, in turn",
        ),
    ],
)
@pytest.mark.parametrize("parallel", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_a_run_may_grow_again_and_again(
    tmp_path: Path, parallel: int, first: dict[str, Any], then: dict[str, Any], last: dict[str, Any]
) -> None:
    common = suite(tmp_path / "grown", ["cfo", "rs"], parallel=parallel)
    for limits in (first, then, last):
        assert not run_suite(replace(common, **{"max_trials": None, **limits})).failures
    run_suite(replace(common, results=tmp_path / "whole", **{"max_trials": None, **last}))

    for method in ("cfo", "rs"):
        assert_same_run(tmp_path / "grown", tmp_path / "whole", method)
        (path,) = (tmp_path / "grown").glob(f"*/*/{method}/*.jsonl")
        run = read_run(path)
        assert run is not None and run.stored is not None
        assert run.stored == digest_of(run.header, run.trials, run.end), "the digest is that of the trials"
        assert run.spec.budget_seconds == last["budget_seconds"]


def test_a_shorter_budget_reads_a_part_of_what_is_there(tmp_path: Path) -> None:
    long, short = suite(tmp_path / "long", ["cfo", "rs"], budget_seconds=60), tmp_path / "short"
    run_suite(long)
    before = [lines_of(tmp_path / "long", name) for name in ("cfo", "rs")]
    events: list[Event] = []

    asked = replace(long, budget_seconds=4.0)
    outcome = run_suite(asked, on_event=events.append)
    own = run_suite(replace(asked, results=short))

    assert [one.outcome for one in outcome.verdicts] == [RunStatus.ALREADY_DONE] * 2
    assert [lines_of(tmp_path / "long", name) for name in ("cfo", "rs")] == before
    for read, run in zip(outcome.verdicts, own.verdicts, strict=True):
        assert read.end is not None and run.end is not None
        for key in ("reason", "elapsed", "trials", "best_loss", "best_score", "best_number"):
            assert getattr(read.end, key) == getattr(run.end, key)
    limits = RunLimits(4.0)
    assert summarise(outcome.traces, limits) == summarise(own.traces, limits) == summarise(own.traces)
    assert [one.text for one in events if isinstance(one, Note)] == [
        "of these runs: 2 done with a longer budget or more trials, of which only a part is read"
    ]


@pytest.mark.parametrize("parallel", [1, 3])
def test_fewer_trials_are_the_first_of_those_that_are_there(tmp_path: Path, parallel: int) -> None:
    many = suite(tmp_path / "many", ["rs"], budget_seconds=1e6, max_trials=30, parallel=parallel)
    run_suite(many)

    few = replace(many, max_trials=7)
    (read,), (run,) = run_suite(few).verdicts, run_suite(replace(few, results=tmp_path / "few")).verdicts

    assert read.outcome is RunStatus.ALREADY_DONE and read.end is not None and run.end is not None
    for key in ("reason", "elapsed", "trials", "best_loss", "best_score", "best_number"):
        assert getattr(read.end, key) == getattr(run.end, key)


METHOD = """
from cfo_bench.optimizers.baselines import RandomSearch


class Forgets(RandomSearch):
    replays = False


class Plans(RandomSearch):
    knows_budget = True
"""


@pytest.mark.parametrize(
    ("name", "budget", "why"),
    [
        ("Forgets", 8.0, "it ended at 4 s, and its method can't be resumed"),
        ("Plans", 8.0, "plans with its budget, so a run of 4 s does not begin like one of 8 s"),
        ("Plans", 2.0, "plans with its budget, so a run of 4 s does not begin like one of 2 s"),
    ],
)
def test_what_can_not_have_other_limits_says_so_before_anything_starts(
    tmp_path: Path, name: str, budget: float, why: str
) -> None:
    (tmp_path / "methods.py").write_text(METHOD)
    asked = suite(tmp_path / "results", [f"{tmp_path}/methods.py:{name}", "rs"])
    run_suite(replace(asked, methods=asked.methods[:1]))
    before = lines_of(tmp_path / "results", name)

    with pytest.raises(UserError, match=why) as raised:
        run_suite(replace(asked, budget_seconds=budget))

    assert f"leave method '{name}' out, use another --results, or --force" in str(raised.value)
    assert lines_of(tmp_path / "results", name) == before
    assert not list((tmp_path / "results").glob("*/*/rs/*.jsonl"))
    looked_at = runs_of(replace(asked, budget_seconds=budget))
    with pytest.raises(UserError, match=why):
        looked_at.there_before(looked_at.check())


def test_a_method_that_can_not_be_resumed_still_holds_the_shorter_run(tmp_path: Path) -> None:
    (tmp_path / "methods.py").write_text(METHOD)
    asked = suite(tmp_path / "results", [f"{tmp_path}/methods.py:Forgets"])
    run_suite(asked)

    (verdict,) = run_suite(replace(asked, budget_seconds=2.0)).verdicts

    assert verdict.outcome is RunStatus.ALREADY_DONE
    assert verdict.end is not None and verdict.end.elapsed == 2.0


def test_a_report_with_a_shorter_budget_leaves_out_a_run_that_planned_with_its_own(tmp_path: Path) -> None:
    (tmp_path / "methods.py").write_text(METHOD)
    run_suite(suite(tmp_path / "results", [f"{tmp_path}/methods.py:Plans", "rs"]))

    built = write_report(tmp_path / "results", baseline="rs", budget=2, formats=["csv"])

    assert [one.method for one in built.overviews[0].standings] == ["rs"]
    assert any("the method plans with its budget, so a run of 4 s" in line for line in built.warnings)


def test_an_exhausted_run_is_as_it_was_and_has_the_new_budget(tmp_path: Path) -> None:
    asked = suite(tmp_path, ["study"], budget_seconds=1e5)
    run_suite(asked)
    before = lines_of(tmp_path, "study")
    assert orjson.loads(before[-1])["reason"] == "exhausted"
    events: list[Event] = []

    run_suite(replace(asked, budget_seconds=2e5), on_event=events.append)

    after = lines_of(tmp_path, "study")
    assert counted(after) == counted(before) and end_of(after)["reason"] == "exhausted"
    (run,) = status(tmp_path).runs
    assert (run.status, run.budget_seconds) == (RunStatus.DONE, 2e5)
    told = [one.text for one in events if isinstance(one, Note)]
    assert told[0] == "of these runs: 1 had nothing new to propose, which more time does not change"


def test_a_failed_run_stays_failed_with_any_budget(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "from cfo_bench.optimizers.baselines import RandomSearch\n"
        "class Bad(RandomSearch):\n"
        "    def tell(self, trial, result):\n"
        "        raise RuntimeError('no')\n"
    )
    asked = suite(tmp_path / "results", [f"{tmp_path}/bad.py:Bad"])
    run_suite(asked)

    (verdict,) = run_suite(replace(asked, budget_seconds=9.0)).verdicts

    assert verdict.outcome is RunStatus.FAILED
    assert "an earlier result; --force runs it again" in (verdict.message or "")


def test_force_keeps_a_copy_of_what_it_replaces(tmp_path: Path) -> None:
    asked = suite(tmp_path / "a", ["rs"])
    run_suite(asked)
    (path,) = (tmp_path / "a").glob("*/*/*/*.jsonl")
    first = path.read_bytes()

    run_suite(replace(asked, budget_seconds=2.0), force=True)
    second = path.read_bytes()
    run_suite(asked, force=True)

    assert path.with_suffix(".replaced").read_bytes() == first
    assert path.with_name(f"{path.stem}-2.replaced").read_bytes() == second
    merge([tmp_path / "a"], tmp_path / "b", lambda page: [])
    (copied,) = (tmp_path / "b").glob("*/*/*/*0.replaced")
    assert copied.read_bytes() == first
    assert len(load_results(tmp_path / "b").runs) == 1


def test_a_merge_takes_the_run_that_has_grown(tmp_path: Path) -> None:
    asked = suite(tmp_path / "a", ["rs"])
    run_suite(asked)
    merge([tmp_path / "a"], tmp_path / "old", lambda page: [])
    run_suite(replace(asked, budget_seconds=9.0))

    merge([tmp_path / "old", tmp_path / "a"], tmp_path / "out", lambda page: [])

    out, grown, old = (lines_of(tmp_path / name, "rs") for name in ("out", "a", "old"))
    assert out == grown and out[: len(old)] == old and len(out) > len(old)


def test_status_says_that_a_done_run_waits_for_its_longer_budget(tmp_path: Path) -> None:
    asked = suite(tmp_path, ["rs"])
    run_suite(asked)
    plan.record_plan(tmp_path, runs_of(replace(asked, budget_seconds=9.0)).specs)

    (run,) = status(tmp_path).runs

    assert (run.status, run.elapsed, run.budget_seconds) == (RunStatus.WAITING, 4.0, 9.0)
    assert remaining([run]).budget_seconds == 5.0


def test_status_says_that_a_done_run_waits_for_more_trials(tmp_path: Path) -> None:
    asked = suite(tmp_path, ["rs"], budget_seconds=1e6, max_trials=5)
    run_suite(asked)
    found = []
    for max_trials in (5, 12, None, 3):
        plan.record_plan(tmp_path, runs_of(replace(asked, max_trials=max_trials)).specs)
        (run,) = status(tmp_path).runs
        found.append((run.status, run.trials, run.max_trials))

    assert found == [
        (RunStatus.DONE, 5, 5),
        (RunStatus.WAITING, 5, 12),
        (RunStatus.WAITING, 5, None),
        (RunStatus.DONE, 5, 5),
    ]
    # A plan by an older version does not say how many trials were asked for.
    rows = [orjson.loads(line) for line in (tmp_path / plan.PLAN_NAME).read_bytes().splitlines()]
    old = {key: value for key, value in rows[-1].items() if key != "max_trials"}
    (tmp_path / plan.PLAN_NAME).write_bytes(orjson.dumps(old) + b"\n")
    assert [run.status for run in status(tmp_path).runs] == [RunStatus.DONE]


def test_a_run_that_is_about_to_go_on_stands_where_it_ended(tmp_path: Path) -> None:
    """A process holds it, and has not written that it goes on yet."""
    asked = suite(tmp_path, ["rs"])
    run_suite(asked)
    (path,) = tmp_path.glob("*/*/*/*.jsonl")
    header, *lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([header.replace(b'"clock":"virtual"', b'"clock":"wall"'), *lines, b""]))
    os.utime(path, (0, 0))  # it ended long ago
    plan.record_plan(tmp_path, runs_of(replace(asked, budget_seconds=9.0)).specs)

    page = LivePage.own(path.with_suffix(PAGE_SUFFIX))
    (run,) = status(tmp_path).runs
    page.close(remove=True)

    assert (run.status, run.elapsed, run.budget_seconds) == (RunStatus.RUNNING, 4.0, 9.0)


def test_the_seconds_that_were_spent_are_not_forecast_again(tmp_path: Path) -> None:
    asked = suite(tmp_path, ["cfo", "rs"])
    run_suite(replace(asked, methods=["cfo"]))
    events: list[Event] = []

    run_suite(replace(asked, budget_seconds=64.0), on_event=events.append)

    (started,) = (one for one in events if isinstance(one, RunsStarted))
    assert started.spent_seconds == {run_id(started.jobs[0].spec): 4.0}
    told, *_ = (one.text for one in events if isinstance(one, Note))
    assert told.endswith("1 to be resumed with new limits, 1 to be started; 2 min 04 s of budget left")


class HalfGrown(NamedTuple):
    """Runs of 4 s that were given 60 s: that of cfo is done with them, and that of rs stands at 20 s."""

    results: Path
    short: Run  # the run of rs when it had ended

    def compared(self, budget: float | None = None) -> tuple[dict[str, Run], list[str]]:
        """The runs that a report would compare, by method, and its warnings."""
        runs = load(self.results).runs
        if budget is not None:
            shorter = as_if_ended(runs, budget)
            assert not shorter.unreadable
            runs = shorter.runs
        found = comparable(runs, budget)
        return {run.method: run for run in found.runs}, found.warnings


@pytest.fixture
def half_grown(tmp_path: Path) -> HalfGrown:
    asked = suite(tmp_path, ["cfo", "rs"])
    run_suite(asked)
    (path,) = tmp_path.glob("*/*/rs/*.jsonl")
    short = read_run(path, parse_trials=True)
    run_suite(replace(asked, budget_seconds=60.0))
    lines = path.read_bytes().splitlines(keepends=True)
    resumed = next(number for number, line in enumerate(lines) if line.startswith(b'{"kind":"resume"'))
    after = [line for line in lines[resumed + 1 :] if orjson.loads(line).get("ended", 60) < 20]
    path.write_bytes(b"".join([*lines[: resumed + 1], *after]))  # as a kill leaves it
    assert short is not None and 1 < len(after) < len(lines) - resumed - 1
    return HalfGrown(tmp_path, short)


def test_a_report_counts_a_run_that_goes_on_as_it_had_ended(half_grown: HalfGrown) -> None:
    shutil.rmtree(next(half_grown.results.glob("*/*/cfo")))

    found, (warning,) = half_grown.compared()

    assert found.keys() == {"rs"} and found["rs"].is_being_extended
    assert found["rs"].digest == half_grown.short.digest and found["rs"].end == half_grown.short.end
    assert found["rs"].trials == half_grown.short.trials
    assert warning == (
        "1 run being extended to a longer budget or more trials: counted with the earlier 4 s, the first "
        "synthetic-1k rs fold 0; see cfo-bench status"
    )


def test_runs_that_have_grown_and_runs_that_go_on_are_not_compared_without_a_budget(
    half_grown: HalfGrown,
) -> None:
    found, warnings = half_grown.compared()

    assert not found
    assert "different budgets (seconds), 4 (1 run) and 60 (1 run)" in warnings[-1]
    assert "give each its own --results" in warnings[-1]


@pytest.mark.parametrize("budget", [2.0, 4.0, 15.0])
def test_a_report_with_a_budget_takes_a_run_that_goes_on_and_has_come_so_far(
    half_grown: HalfGrown, tmp_path_factory: pytest.TempPathFactory, budget: float
) -> None:
    own = tmp_path_factory.mktemp("own")
    run_suite(suite(own, ["rs"], budget_seconds=budget))
    (path,) = own.glob("*/*/*/*.jsonl")
    alone = read_run(path)

    found, _ = half_grown.compared(budget)

    assert found.keys() == {"cfo", "rs"} and alone is not None
    for key in ("status", "budget_seconds", "elapsed", "n_trials", "incumbents", "spent"):
        assert getattr(found["rs"], key) == getattr(alone, key)


def test_a_report_with_a_longer_budget_leaves_a_run_that_goes_on_out(half_grown: HalfGrown) -> None:
    found, (warning,) = half_grown.compared(40)

    assert found.keys() == {"cfo"}
    assert warning.startswith("1 of 2 runs left out, as their budget is below 40 s")


def cfo_bench(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cfo_bench", "run", *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


# The first trial takes no time, each other one longer than the first budget, on any machine.
SLEEPER = """
import time
from cfo_bench.plugins import Float, Problem, Result, Space, Status


class Sleeper:
    problems = tuple(Problem)
    cost_related = ()
    virtual = False

    def space(self, n_rows):
        return Space([Float("x", 0.0, 1.0)])

    def start(self, space):
        return {"x": 0.5}

    def prepare(self, fold, threads, seed):
        return self

    def evaluate(self, trial, deadline):
        seconds = 2.0 if trial.number else 0.0
        time.sleep(seconds)
        return Result(Status.OK, trial.config["x"], seconds)
"""


def test_a_real_run_goes_on_with_the_clock_where_it_stood(tmp_path: Path) -> None:
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    words = ["--task", "digits", "--learner", "sleeper.py:Sleeper", "--method", "rs", "--folds", 0]
    words += ["--results", "r"]
    first = cfo_bench(tmp_path, *words, "--budget", 2)
    assert first.returncode == 0, first.stderr
    (path,) = (tmp_path / "r").rglob("*.jsonl")
    short = read_run(path, parse_trials=True)
    assert short is not None
    kept, cut_off = short.trials
    assert (kept.status, cut_off.status) == (Status.OK, Status.TIMEOUT)

    looked = cfo_bench(tmp_path, *words, "--budget", 4.5, "--dry-run")
    assert looked.stdout.count("--results r\n") == 1
    assert "of these runs: 1 to be resumed with new limits" in looked.stderr
    done = cfo_bench(tmp_path, *words, "--budget", 4.5)
    assert done.returncode == 0, done.stderr

    long = read_run(path)
    assert long is not None and long.end is not None
    (resume,) = long.resumes
    assert (resume.trials, resume.superseded) == (1, 1)
    again = long.trials[1]
    assert long.trials[0] == kept and again.config == cut_off.config
    # The seconds that the cut-off trial had taken are given back: it starts again where it started.
    assert kept.ended <= again.started < 2.0 <= again.ended
    assert long.end.reason is EndReason.BUDGET and long.end.elapsed >= 4.5


def test_two_names_of_one_method_grow_each_for_itself(tmp_path: Path) -> None:
    methods = ["cfo", Choice("cfo", {"delta_init": 1}, "long")]
    run_suite(suite(tmp_path / "grown", methods[1:], budget_seconds=2))

    run_suite(suite(tmp_path / "grown", methods))
    run_suite(suite(tmp_path / "whole", methods))

    for name in ("cfo", "long"):
        assert_same_run(tmp_path / "grown", tmp_path / "whole", name)
    assert lines_of(tmp_path / "grown", "cfo")[1:] == lines_of(tmp_path / "whole", "cfo")[1:]
    runs = load_results(tmp_path / "grown").runs
    assert set(runs["method"]) == {"cfo", "long"}
