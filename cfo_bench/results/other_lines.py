"""The lines of a trace that are no trials: the header, ends and resumes, and what may follow what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cfo_bench.errors import TraceError
from cfo_bench.records import EndReason
from cfo_bench.results.line_types import (
    COUNT,
    END,
    HEADER,
    RESUME,
    BadLineError,
    LineRow,
    check_depth,
    check_row,
    parsed,
    short,
)

SCHEMA_VERSION = 1


def bad_line(path: object, number: int, why: str) -> TraceError:
    return TraceError(
        f"{path}, line {number} is not a record of a trace ({why}): "
        "move the file away, or run it again with --force"
    )


def header_of(path: object, text: bytes) -> LineRow:
    try:
        row = parsed(text)
        if row.get("kind") != "run":
            raise BadLineError("the first line is no header")
        schema = row.get("schema")
        if type(schema) is int and schema != SCHEMA_VERSION:
            raise TraceError(
                f"{path} has trace version {schema}, this cfo-bench reads version {SCHEMA_VERSION}: "
                "use another --results, or --force to run it again"
            )
        if type(schema) is not int:
            raise BadLineError(f"schema is {short(schema)}, which is not the version of a trace")
        header = with_current_names(row)
        check_depth(header)
        check_row(header, HEADER)
    except BadLineError as error:
        raise bad_line(path, 1, str(error)) from None
    return header


def with_current_names(header: LineRow) -> LineRow:
    """A header with the names that this version uses: older ones call `parallel` `workers`."""
    spec = header.get("spec")
    if not isinstance(spec, dict) or "workers" not in spec:
        return header
    options = spec.get("options")
    if isinstance(options, dict):
        options = {"parallel" if key == "workers" else key: value for key, value in options.items()}
    renamed = {"parallel" if key == "workers" else key: value for key, value in spec.items()}
    return {**header, "spec": {**renamed, "options": options}}


def with_limits(header: LineRow, resumes: Iterable[LineRow]) -> LineRow:
    """A header with the limits that the run has now: each resume may have changed them."""
    for row in resumes:
        if row.get("limits"):
            header = {**header, "spec": {**header["spec"], **row["limits"]}}
    return header


def counted_trials(texts: Sequence[bytes]) -> tuple[list[bytes], list[LineRow]]:
    """The lines of the trials that count, and the resumes, of the lines after the header."""
    trials: list[bytes] = []
    resumes = []
    for text in texts:
        if is_trial(text):
            trials.append(text)
        elif text.startswith(b'{"kind":"resume",'):
            resumes.append(parsed(text))
            trials = trials[: len(trials) - resumes[-1].get("superseded", 0)]
    return trials, resumes


def split_lines(whole: bytes) -> list[bytes]:
    texts = whole.split(b"\n")
    return texts if texts[-1] else texts[:-1]


def is_trial(text: bytes) -> bool:
    """Whether the line is a trial, as our writer begins it."""
    return text.startswith(b'{"kind":"trial",')


def check_others(others: Sequence[tuple[int, LineRow]], n_lines: int) -> None:
    """The lines that are no trials, each with its place among the lines after the header."""
    superseded = 0
    for before, (at, row) in enumerate(others):
        check_row(row, {"superseded": COUNT})
        if row["kind"] == "resume":
            superseded += row.get("superseded", 0)
        check_other(row, trials=at - before - superseded)
        is_followed_by_trial = before + 1 == len(others) or others[before + 1][0] != at + 1
        if at + 1 < n_lines:
            check_may_follow(row, None if is_followed_by_trial else others[before + 1][1])


def check_may_follow(end: LineRow, row: LineRow | None) -> None:
    """What stands after an end; None: a trial."""
    if end["kind"] != "end" or end["reason"] == EndReason.INTERRUPTED:
        return
    if row is None or row["kind"] != "resume" or not row.get("limits"):
        raise BadLineError("lines follow the end of the run")


def check_other(row: LineRow, trials: int) -> None:
    """A line that is no trial, after so many trials that count."""
    kind = row["kind"]
    if kind not in ("resume", "end"):
        raise BadLineError("a second header" if kind == "run" else f"kind is {short(kind)}")
    check_depth(row)
    check_row(row, END if kind == "end" else RESUME)
    if row["trials"] != trials:
        raise BadLineError(f"trials is {row['trials']}, and the lines before it have {trials}")
    if kind == "resume" and row.get("superseded") and not row.get("limits"):
        raise BadLineError("superseded goes with limits only")
