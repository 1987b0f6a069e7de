"""One reader for all commands: what a whole trace is, and the error for one that is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cfo_bench.errors import TraceError
from cfo_bench.results.run import Run, run_of_text
from cfo_bench.results.schema import decode
from cfo_bench.results.trace import trials_crc32
from tests.helpers.traces import write_run

Rows = list[dict[str, Any]]


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    """A header, three trials and an end with their checksum."""
    path = write_run(tmp_path, "t", "cfo", 0, [(1.0, 0.5, 0.5), (2.0, None, 0.5), (3.0, 0.25, 0.5)])
    rows = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    rows[-1]["trials_crc32"] = trials_crc32(as_bytes(rows).splitlines())
    return rows


def as_bytes(rows: Rows) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def of_an_older_version(**values: Any) -> Callable[[Rows], Rows]:
    """A header without the facts of its metric, and with other values."""

    def change(rows: Rows) -> Rows:
        header = {**rows[0], **values}
        del header["metric_facts"]
        return [header, *rows[1:]]

    return change


def changed(line: int, **values: Any) -> Callable[[Rows], Rows]:
    return lambda rows: [{**row, **values} if at == line else row for at, row in enumerate(rows)]


def read(text: bytes, parse_trials: bool = False) -> Run:
    run = run_of_text(PATH, text, parse_trials)
    assert run is not None
    return run


PATH = Path("t.jsonl")


def test_a_whole_trace_becomes_a_run(rows: Rows) -> None:
    run = read(as_bytes(rows), parse_trials=True)

    assert run.names == ("xgboost", "t", "cfo", 0, 0) and run.is_finished
    assert [trial.loss for trial in run.trials] == [0.5, None, 0.25]


def test_a_file_without_a_line_is_no_trace_yet() -> None:
    assert run_of_text(PATH, b"") is None


def test_a_run_is_the_same_with_and_without_a_checksum(rows: Rows) -> None:
    without = [*rows[:-1], {**rows[-1], "trials_crc32": None}]
    runs = [read(as_bytes(rows)), read(as_bytes(without)), read(as_bytes(rows), parse_trials=True)]

    assert len({(run.n_trials, run.reached, run.status, run.late_trials) for run in runs}) == 1
    assert read(as_bytes(rows[:3])).reached == 2.0


def test_trials_are_not_parsed_where_their_checksum_is_right(rows: Rows) -> None:
    lines = as_bytes(rows).splitlines()
    lines[2] = b'{"kind":"trial", and no more'
    with pytest.raises(TraceError):
        read(b"\n".join(lines))

    lines[-1] = msgspec.json.encode({**rows[-1], "trials_crc32": trials_crc32(lines)})

    assert read(b"\n".join(lines) + b"\n").n_trials == 3


def deep() -> dict[str, Any]:
    """Deeper than JSON can be written would be too deep for this test as well."""
    found: dict[str, Any] = {}
    for _ in range(200):
        found = {"x": found}
    return found


@pytest.mark.parametrize(
    ("damage", "line", "why"),
    [
        (lambda rows: [*rows[:2], *rows[1:]], 3, "trial 0 occurs twice"),
        (lambda rows: [rows[0], *rows[2:]], 2, "trial 1 is in the place of trial 0"),
        (lambda rows: [*rows[:2], rows[0], *rows[2:]], 3, "a second header"),
        (lambda rows: [*rows, rows[4]], 5, "lines follow the end of the run"),
        (lambda rows: [*rows[:3], rows[4]], 4, "trials is 3, and the lines before it have 2"),
        (changed(2, kind="prophecy"), 3, "kind is 'prophecy'"),
        (changed(1, loss="0.5"), 2, "loss is '0.5', which is not a number or null"),
        (changed(1, number=True), 2, "number is True, which is not a whole number"),
        (changed(1, config=[]), 2, "config is a list"),
        (changed(1, config={"x": [1]}), 2, "config is a dict"),
        (changed(2, loss=0.5), 3, "only ok has a loss"),
        (changed(2, started=9.0), 3, "before it started"),
        (changed(3, started=0.0, ended=0.5), 4, "ended before the trial above it"),
        (changed(4, reason="boredom"), 5, "reason is 'boredom'"),
        (changed(0, machine=[]), 1, "machine is a list, which is not a mapping or null"),
        (of_an_older_version(metric="r3"), 1, "metric is 'r3', which is not one of"),
        (changed(0, metric_facts={"title": "r3"}), 1, "metric_facts.higher_is_better is missing"),
        (changed(0, schema="1"), 1, "schema is '1'"),
        (changed(0, data={"sha256": 7, "train_rows": 9}), 1, "data.sha256 is 7, which is not text"),
        (changed(0, spec={}), 1, "spec.learner is missing"),
        (changed(0, space=deep()), 1, "space is a dict, which is not a list or null"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_remedy(
    rows: Rows, damage: Callable[[Rows], Rows], line: int, why: str
) -> None:
    with pytest.raises(TraceError) as caught:
        read(as_bytes(damage(rows)))

    said = str(caught.value)
    assert said.startswith(f"t.jsonl, line {line} is not a record of a trace (") and why in said
    assert said.endswith("move the file away, or run it again with --force") and "\n" not in said


@pytest.mark.parametrize(
    "text", [b"", b"   ", b"17", b"null", b"[1]", b"{}", b"words", b'{"a":NaN}', b"\0\0"]
)
def test_a_line_that_is_no_record_is_named(rows: Rows, text: bytes) -> None:
    lines = as_bytes(rows).splitlines()

    with pytest.raises(TraceError, match="line 3 is not a record"):
        read(b"\n".join([*lines[:2], text, *lines[2:]]) + b"\n")


def test_trials_at_once_may_end_in_any_order_but_not_twice(rows: Rows) -> None:
    rows[0]["spec"]["parallel"] = 2
    swapped = [rows[0], rows[3], rows[2], rows[1], rows[4]]
    assert read(as_bytes(swapped)).n_trials == 3

    with pytest.raises(TraceError, match="trial 2 occurs twice"):
        read(as_bytes([rows[0], rows[3], rows[3], rows[1], rows[4]]))


def test_a_large_whole_number_of_seconds_is_fine(rows: Rows) -> None:
    rows[1]["fit_seconds"] = 2**63
    decode(msgspec.json.encode(rows[1]))

    assert read(as_bytes(rows)).n_trials == 3


@pytest.mark.parametrize(("line", "key"), [(1, "note"), (2, "thread"), (2, "note")])
def test_what_is_nested_too_deep_to_be_read_is_refused(rows: Rows, line: int, key: str) -> None:
    rows[line - 1][key] = "DEEP"
    text = as_bytes(rows).replace(b'"DEEP"', b"[" * 100_000 + b"]" * 100_000)

    with pytest.raises(TraceError, match=rf"line {line} is not a record of a trace \(nested too deep\)"):
        read(text)
