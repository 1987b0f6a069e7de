"""Traces of runs that went on with other limits: what is a whole one, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from cfo_bench.errors import TraceError
from cfo_bench.records import EndReason, EndRecord, ResumeRecord, RunLimits
from cfo_bench.results import trace
from cfo_bench.results.limits import is_done
from cfo_bench.results.outline import Outline
from cfo_bench.results.shortening import shortened
from cfo_bench.results.trace import TraceWriter
from cfo_bench.results.validation import Lines
from tests.helpers.traces import BUDGET, write_run

# The last one was cut off at the end of the budget.
TRIALS = [(10.0, 0.4, 10.0), (60.0, 0.3, 50.0), (100.0, None, 40.0)]
GROWN = RunLimits(300.0)

Rows = list[dict[str, Any]]


@pytest.fixture
def grown(tmp_path: Path) -> Path:
    """A run of 100 s that went on to 300 s: its third trial was asked for again."""
    path = write_run(tmp_path, "iris", "rs", 0, TRIALS)
    third = orjson.loads(path.read_bytes().splitlines()[3])
    again = {**third, "status": "ok", "loss": 0.2, "score": 0.8, "ended": 240.0, "fit_seconds": 180.0}
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
    lines, outline, whole = trace.lines_of(grown), trace.outline_or_lines(grown), trace.read(grown)

    assert isinstance(lines, Lines) and isinstance(outline, Outline) and whole is not None
    assert [trial.loss for trial in whole.trials] == [0.4, 0.3, 0.2]
    for header in (lines.header, outline.header, whole.header):
        assert header["spec"]["budget_seconds"] == 300.0
    assert orjson.loads(grown.read_bytes().splitlines()[0])["spec"]["budget_seconds"] == BUDGET
    assert outline.end["digest"]["trials"] == 3 and outline.end["digest"]["statuses"] == {"ok": 3}


def test_the_first_budget_can_still_be_read(grown: Path) -> None:
    lines = trace.lines_of(grown)
    assert lines is not None

    then = shortened(lines, BUDGET)

    assert [row["status"] for row in then.trials] == ["ok", "ok", "timeout"]
    assert then.end is not None
    assert (then.end["elapsed"], then.end["best_loss"], then.end["best_number"]) == (BUDGET, 0.3, 1)


def change(path: Path, edit: Callable[[Rows], object]) -> None:
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    edit(rows)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


@pytest.mark.parametrize(
    ("edit", "line", "why"),
    [
        (lambda rows: rows[5].update(limits=None, superseded=0), 5, "lines follow the end of the run"),
        (lambda rows: rows[5].pop("limits"), 5, "lines follow the end of the run"),
        (lambda rows: rows.pop(5), 5, "lines follow the end of the run"),
        (lambda rows: rows[5].update(superseded=2), 6, "trials is 2, and the lines before it have 1"),
        (lambda rows: rows[5].update(superseded=9), 6, "trials is 2, and the lines before it have"),
        (lambda rows: rows[5].update(superseded=-1), 6, "superseded is -1, which is not a whole number"),
        (lambda rows: rows[5].update(limits={"budget_seconds": 300}), 6, "limits is a dict, which is not"),
        (
            lambda rows: rows[5].update(limits={"budget_seconds": 0, "max_trials": None}),
            6,
            "limits is a dict",
        ),
        (lambda rows: rows[4].update(reason="interrupted") or rows[5].update(limits=None), 6, "superseded"),
        (lambda rows: rows[6].update(number=3), 7, "trial 3 stands where trial 2 should"),
        (lambda rows: rows[3].update(status="odd"), 4, "status is 'odd'"),
    ],
)
def test_a_trace_that_went_on_wrongly_is_refused_with_its_line(
    grown: Path, edit: Callable[[Rows], object], line: int, why: str
) -> None:
    change(grown, edit)

    with pytest.raises(TraceError, match=rf"line {line} is not a record of a trace \({why}"):
        trace.lines_of(grown)
    with pytest.raises(TraceError, match=f"line {line} "):
        trace.ends(grown)


END = {"kind": "end", "elapsed": 100.0, "trials": 20}


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
    header = {"spec": {"budget_seconds": now[0], "max_trials": now[1]}}

    assert is_done(header, {**END, "reason": reason}, RunLimits(*asked)) is done
