"""One check for all commands: what a whole trace is, and what is said of one that is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from cfo_bench.errors import TraceError
from cfo_bench.results.line_types import check_trial
from cfo_bench.results.outline import trials_crc32
from cfo_bench.results.validation import check, check_ends
from tests.helpers.traces import write_run

Rows = list[dict[str, Any]]


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    """A header, three trials and an end with their checksum."""
    path = write_run(tmp_path, "t", "cfo", 0, [(1.0, 0.5, 0.5), (2.0, None, 0.5), (3.0, 0.25, 0.5)])
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    rows[-1]["trials_crc32"] = trials_crc32(as_bytes(rows))
    return rows


def as_bytes(rows: Rows) -> bytes:
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def changed(line: int, **values: Any) -> Callable[[Rows], Rows]:
    return lambda rows: [{**row, **values} if at == line else row for at, row in enumerate(rows)]


def test_a_whole_trace_is_taken_apart(rows: Rows) -> None:
    found = check("t.jsonl", as_bytes(rows))

    assert found is not None
    assert (found.header, found.trials, found.end) == (rows[0], rows[1:4], rows[4])
    assert list(found.columns["loss"]) == [0.5, None, 0.25]


def test_a_file_without_a_line_is_no_trace_yet() -> None:
    assert check("t.jsonl", b"") is None
    assert check_ends("t.jsonl", b"") is None


def test_the_first_and_the_last_line_are_checked_with_and_without_a_checksum(rows: Rows) -> None:
    without = [*rows[:-1], {**rows[-1], "trials_crc32": None}]

    assert check_ends("t.jsonl", as_bytes(rows)) == (rows[0], rows[-1])
    assert check_ends("t.jsonl", as_bytes(without)) == (rows[0], without[-1])
    assert check_ends("t.jsonl", as_bytes(rows[:3])) == (rows[0], rows[2])


def test_trials_are_not_parsed_where_their_checksum_is_right(rows: Rows) -> None:
    lines = as_bytes(rows).splitlines()
    lines[2] = b'{"kind":"trial", and no more'
    with pytest.raises(TraceError):
        check_ends("t.jsonl", b"\n".join(lines))

    lines[-1] = orjson.dumps({**rows[-1], "trials_crc32": trials_crc32(b"\n".join(lines))})

    found = check_ends("t.jsonl", b"\n".join(lines))
    assert found is not None and found[0] == rows[0]


def deep() -> dict[str, Any]:
    """Deeper than JSON can be written would be too deep for this test as well."""
    found: dict[str, Any] = {}
    for _ in range(200):
        found = {"x": found}
    return found


@pytest.mark.parametrize(
    ("damage", "line", "why"),
    [
        (lambda rows: [*rows[:2], *rows[1:]], 3, "trial 0 is there twice"),
        (lambda rows: [rows[0], *rows[2:]], 2, "trial 1 stands where trial 0 should"),
        (lambda rows: [*rows[:2], rows[0], *rows[2:]], 3, "a second header"),
        (lambda rows: [*rows, rows[4]], 5, "lines follow the end of the run"),
        (lambda rows: [*rows[:3], rows[4]], 4, "trials is 3, and the lines before it have 2"),
        (changed(2, kind="prophecy"), 3, "kind is 'prophecy'"),
        (changed(1, loss="0.5"), 2, "loss is '0.5', which is not a number or null"),
        (changed(1, number=True), 2, "number is True, which is not a whole number from 0 on"),
        (changed(1, config=[]), 2, "config is a list"),
        (changed(1, config={"x": [1]}), 2, "config is a dict"),
        (changed(2, loss=0.5), 3, "only ok has a loss"),
        (changed(2, started=9.0), 3, "before it started"),
        (changed(3, started=0.0, ended=0.5), 4, "ended before the trial above it"),
        (changed(4, reason="boredom"), 5, "reason is 'boredom'"),
        (changed(0, machine=None), 1, "machine is None, which is not a mapping"),
        (changed(0, metric="r3"), 1, "metric is 'r3', which is not one of"),
        (changed(0, schema="1"), 1, "schema is '1'"),
        (changed(0, data={"sha256": 7, "train_rows": 9}), 1, "data.sha256 is 7, which is not text"),
        (changed(0, spec={}), 1, "spec.learner is missing"),
        (changed(0, note=deep()), 1, "nested more than 100 deep"),
        (changed(4, digest=deep()), 5, "nested more than 100 deep"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_remedy(
    rows: Rows, damage: Callable[[Rows], Rows], line: int, why: str
) -> None:
    with pytest.raises(TraceError) as caught:
        check("t.jsonl", as_bytes(damage(rows)))
    with pytest.raises(TraceError) as caught_by_ends:
        check_ends("t.jsonl", as_bytes(damage(rows)))
    assert str(caught_by_ends.value) == str(caught.value)

    said = str(caught.value)
    assert said.startswith(f"t.jsonl, line {line} is not a record of a trace (") and why in said
    assert said.endswith("move the file away, or run it again with --force") and "\n" not in said


@pytest.mark.parametrize(
    "text", [b"", b"   ", b"17", b"null", b"[1]", b"{}", b"words", b'{"a":NaN}', b"\0\0"]
)
def test_a_line_that_is_no_record_is_named(rows: Rows, text: bytes) -> None:
    lines = as_bytes(rows).splitlines()

    with pytest.raises(TraceError, match="line 3 is not a record"):
        check("t.jsonl", b"\n".join([*lines[:2], text, *lines[2:]]) + b"\n")


def test_trials_at_once_may_end_in_any_order_but_not_twice(rows: Rows) -> None:
    rows[0]["spec"]["parallel"] = 2
    swapped = [rows[0], rows[3], rows[2], rows[1], rows[4]]
    assert check("t.jsonl", as_bytes(swapped)) is not None

    with pytest.raises(TraceError, match="trial 2 is there twice"):
        check("t.jsonl", as_bytes([rows[0], rows[3], rows[3], rows[1], rows[4]]))


def test_a_large_whole_number_of_seconds_is_fine_alone_and_in_a_column(rows: Rows) -> None:
    rows[1]["fit_seconds"] = 2**63
    check_trial(rows[1])

    assert check("t.jsonl", as_bytes(rows)) is not None
