"""Traces of runs that went on with other limits: what is a whole one, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cfo_bench.errors import TraceError
from cfo_bench.records import EndReason, RunLimits, RunSpec, TrialStatus
from cfo_bench.results.limits import in_words, is_done, is_longer, shortened
from cfo_bench.results.run import Run, read_finished_part, read_run
from cfo_bench.results.schema import EndRecord, ResumeRecord, TrialRecord, decode
from cfo_bench.results.trace import TraceWriter
from tests.helpers.traces import BUDGET, header_of, write_run

# The last one was cut off at the end of the budget.
TRIALS = [(10.0, 0.4, 10.0), (60.0, 0.3, 50.0), (100.0, None, 40.0)]
GROWN = RunLimits(300.0)

Rows = list[dict[str, Any]]


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    """A run of 100 s that went on to 300 s: its third trial was asked for again."""
    path = write_run(tmp_path, "iris", "rs", 0, TRIALS)
    third = decode(path.read_bytes().splitlines()[3])
    assert isinstance(third, TrialRecord)
    again = msgspec.structs.replace(
        third, status=TrialStatus.OK, loss=0.2, score=0.8, ended=240.0, fit_seconds=180.0
    )
    with TraceWriter(path) as writer:
        writer.append(
            ResumeRecord(elapsed=60.0, trials=2, utc="", why="it was over", superseded=1, limits=GROWN)
        )
        writer.append(again)
        writer.append(
            EndRecord(
                reason=EndReason.BUDGET, elapsed=300.0, trials=3, best_loss=0.2, best_score=0.8, best_number=2
            )
        )
    return path


def test_the_trial_that_was_asked_for_again_counts_and_the_limits_are_the_new_ones(grown: Path) -> None:
    by_checksum, parsed = read_run(grown), read_run(grown, parse_trials=True)

    assert by_checksum is not None and parsed is not None and by_checksum.parsed is None
    assert [trial.loss for trial in parsed.trials] == [0.4, 0.3, 0.2]
    assert by_checksum.budget_seconds == parsed.budget_seconds == 300.0
    assert msgspec.json.decode(grown.read_bytes().splitlines()[0])["spec"]["budget_seconds"] == BUDGET
    assert by_checksum.stored is not None and by_checksum.stored.statuses == {TrialStatus.OK: 3}


def test_a_run_that_is_being_extended_can_be_read_as_it_had_finished(grown: Path) -> None:
    assert read_finished_part(write_run(grown.parent, "wine", "rs", 0, TRIALS)) is None
    grown.write_bytes(b"".join(grown.read_bytes().splitlines(keepends=True)[:-1]))

    before = read_finished_part(grown)

    assert before is not None and before.is_being_extended
    assert (before.budget_seconds, before.n_trials) == (BUDGET, 3)


def test_the_first_budget_can_still_be_read(grown: Path) -> None:
    run = read_run(grown)
    assert run is not None

    then = shortened(run, BUDGET)

    assert [trial.status for trial in then.trials] == ["ok", "ok", "timeout"]
    assert then.end is not None
    assert (then.end.elapsed, then.end.best_loss, then.end.best_number) == (BUDGET, 0.3, 1)


def change(path: Path, edit: Callable[[Rows], object]) -> None:
    rows = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    edit(rows)
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


@pytest.mark.parametrize(
    ("edit", "line", "why"),
    [
        (lambda rows: rows[5].update(limits=None, superseded=0), 5, "lines follow the end of the run"),
        (lambda rows: rows[5].pop("limits"), 6, "superseded is allowed only with limits"),
        (lambda rows: rows.pop(5), 5, "lines follow the end of the run"),
        (lambda rows: rows[5].update(superseded=2), 6, "trials is 2, and the lines before it have 1"),
        (lambda rows: rows[5].update(superseded=9), 6, "trials is 2, and the lines before it have"),
        (lambda rows: rows[5].update(superseded=-1), 6, "superseded is -1, which is not a whole number"),
        (lambda rows: rows[5].update(limits={"max_trials": 9}), 6, "limits.budget_seconds is missing"),
        (
            lambda rows: rows[5].update(limits={"budget_seconds": 0, "max_trials": None}),
            6,
            "limits.budget_seconds is 0, which is not a number above 0",
        ),
        (lambda rows: rows[4].update(reason="interrupted") or rows[5].update(limits=None), 6, "superseded"),
        (lambda rows: rows[6].update(number=3), 7, "trial 3 is in the place of trial 2"),
        (lambda rows: rows[3].update(status="odd"), 4, "status is 'odd'"),
    ],
)
def test_a_trace_that_went_on_wrongly_is_refused_with_its_line(
    grown: Path, edit: Callable[[Rows], object], line: int, why: str
) -> None:
    change(grown, edit)

    with pytest.raises(TraceError, match=rf"line {line} is not a record of a trace \({why}"):
        read_run(grown)


@pytest.mark.parametrize(
    ("reason", "now", "asked", "done"),
    [
        ("budget", (100, None), (100, None), True),
        ("budget", (100, None), (60, None), True),
        ("budget", (100, None), (600, None), False),
        ("budget", (100, None), (600, 19), True),  # the twentieth may have been cut off
        ("budget", (100, None), (600, 20), False),
        ("max_trials", (600, 20), (600, 21), False),
        ("max_trials", (600, 20), (600, None), False),
        ("max_trials", (600, 20), (600, 5), True),
        ("max_trials", (600, 20), (90, None), True),
        ("max_trials", (600, 20), (1000, 20), True),
        ("exhausted", (600, None), (100, None), True),
        ("exhausted", (600, None), (1000, None), False),
        ("error", (600, None), (1000, 50), True),
        ("interrupted", (600, None), (600, None), False),
        ("interrupted", (600, None), (90, None), True),
        ("interrupted", (600, None), (300, None), False),
        ("interrupted", (600, None), (600, 20), True),
    ],
)
def test_a_run_is_done_if_it_has_all_that_one_with_these_limits_would_have(
    reason: str, now: tuple[float, int | None], asked: tuple[float, int | None], done: bool
) -> None:
    spec = RunSpec("xgboost", "iris", "rs", 0, budget_seconds=now[0], max_trials=now[1])
    end = EndRecord(
        reason=EndReason(reason),
        elapsed=100.0,
        trials=20,
        best_loss=None,
        best_score=None,
        best_number=None,
    )
    run = Run(Path("t.jsonl"), header_of(spec), end=end, n_trials=20, reached=100.0)

    assert is_done(run, RunLimits(*asked)) is done


@pytest.mark.parametrize(
    ("elapsed", "asked", "is_part_read"),
    [
        (100.01, (100, None), False),  # it was stopped a hundredth of a second after its budget
        (100.01, (100, 50), False),
        (100.01, (100, 2), True),
        (100.01, (99, None), True),
        (100.0, (600, 3), False),
    ],
)
def test_a_run_that_stopped_a_little_after_its_budget_is_not_a_longer_one(
    tmp_path: Path, elapsed: float, asked: tuple[float, int | None], is_part_read: bool
) -> None:
    run = read_run(write_run(tmp_path, "iris", "rs", 0, TRIALS, elapsed=elapsed))
    assert run is not None
    spec = replace(run.spec, budget_seconds=asked[0], max_trials=asked[1])

    assert is_longer(run, RunLimits(*asked)) is is_part_read
    assert ("only a part is read" in in_words([spec], [run])) is is_part_read
