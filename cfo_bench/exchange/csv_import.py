"""Trials of a CSV file: one that `cfo-bench export` wrote, or any other with one row a trial.

Columns are known by the names in docs/exchange.md, or by those that the user gives for them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cfo_bench.errors import UnknownNameError, UserError, did_you_mean
from cfo_bench.exchange.imported_trace import FoundRun, FoundTrial, Meaning, SourceClock, read_text
from cfo_bench.exchange.trial_table import CONFIG_PREFIX, RUN_COLUMNS, TRIAL_COLUMNS, text_of, value_of
from cfo_bench.records import Status
from cfo_bench.results.schema import TrialRecord

# What a trial may have that the exported table has not: how long it took.
DURATION = "seconds"
KNOWN: dict[str, type] = {**RUN_COLUMNS, **TRIAL_COLUMNS, DURATION: float}
RUN_NAMES = ("learner", "task", "method", "fold", "seed")

CsvRow = dict[str, Any]


def read_csv(
    source: Path, columns: Mapping[str, str] | None = None, hyperparameters: Sequence[str] = ()
) -> list[FoundRun]:
    """The runs of a file, told apart by the columns learner, task, method, fold and seed.

    `columns` has the names that known columns have in this file. The hyperparameters are the columns that
    are named; else those that begin with `config.`; else all that are not known.
    """
    lines = list(_lines(source))
    if len(lines) < 2:
        raise UserError(f"{str(source)!r} has no trials: it takes a line of names, then one a trial")
    (_, head), *rows = lines
    known, configs = _columns(source, head, columns or {}, hyperparameters)
    groups: dict[tuple[Any, ...], list[CsvRow]] = {}
    for number, cells in rows:
        row = _row(f"{source}, line {number}", dict(zip(head, cells, strict=True)), known, configs)
        groups.setdefault(tuple(row.get(name) for name in RUN_NAMES), []).append(row)
    return [_run(source, own) for own in groups.values()]


def _lines(source: Path) -> list[tuple[int, list[str]]]:
    """The lines that are not empty, each with its number."""
    reader = csv.reader(read_text(source).splitlines(keepends=True), strict=True)
    found: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            if any(cells):
                found.append((reader.line_num, cells))
                if len(cells) != len(found[0][1]):
                    raise UserError(
                        f"{source}, line {reader.line_num}: {len(cells)} values for {len(found[0][1])} "
                        "columns: quote commas"
                    )
    except csv.Error as error:
        raise UserError(f"{source}, line {reader.line_num}: no CSV ({error}): check its quotes") from None
    return found


def _columns(
    source: Path, head: Sequence[str], given: Mapping[str, str], hyperparameters: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The known columns and the hyperparameters, each with the name of its column in the file."""
    for name in head:
        if head.count(name) > 1:
            raise UserError(f"{source}: column {name!r} is there twice: rename one")
    for ours, theirs in given.items():
        if ours not in KNOWN:
            raise UserError(
                f"{ours!r} is no column that a trial has{did_you_mean(ours, KNOWN)}: choose from "
                f"{', '.join(KNOWN)}"
            )
        if theirs not in head:
            raise UnknownNameError(f"column of {source}", theirs, head)
    known = {name: given.get(name, name) for name in KNOWN if given.get(name, name) in head}
    if "loss" not in known and "score" not in known:
        raise UserError(
            f"{source} has neither a column loss nor score: say which it is, as in --column loss=val_loss "
            f"(its columns: {', '.join(head[:20])})"
        )
    for name in hyperparameters:
        if name not in head:
            raise UnknownNameError(f"column of {source}", name, head)
    chosen = list(hyperparameters) or [name for name in head if name.startswith(CONFIG_PREFIX)]
    if not chosen:
        chosen = [name for name in head if name not in known.values()]
    return known, {name.removeprefix(CONFIG_PREFIX): name for name in chosen}


def _row(
    place: str, cells: Mapping[str, str], known: Mapping[str, str], configs: Mapping[str, str]
) -> CsvRow:
    row: CsvRow = {name: _cell(place, cells[column], name) for name, column in known.items()}
    row["config"] = {name: value_of(cells[column]) for name, column in configs.items() if cells[column]}
    status = row.get("status")
    if status is not None and status not in set(Status):
        raise UserError(f"{place}: status {status!r} is none of {', '.join(Status)}")
    return row


def _cell(place: str, text: str, name: str) -> Any:
    kind = KNOWN[name]
    if not text.strip():
        return None
    if kind is str:
        return text_of(text)
    try:
        value = kind(text)
    except ValueError:
        raise UserError(f"{place}: {name} {text!r} is no {'whole ' * (kind is int)}number") from None
    # An infinite loss is that of a trial that failed; nothing else can be infinite, or negative.
    if name not in ("loss", "score", "test_score", "constant_loss") and not 0 <= value < math.inf:
        raise UserError(f"{place}: {name} {text!r} is no number from 0 on")
    return value


def _run(source: Path, rows: Sequence[CsvRow]) -> FoundRun:
    first = rows[0]
    is_whole = all(_is_whole(row) for row in rows)
    has_ends = all(row.get("ended_seconds") is not None for row in rows)
    has_seconds = has_ends or all(row.get(DURATION) is not None for row in rows)
    meaning = Meaning.LOSS if any(row.get("loss") is not None for row in rows) else Meaning.SCORE
    known = {name: first[name] for name in RUN_NAMES if first.get(name) is not None}
    known.setdefault("method", source.stem)
    return FoundRun(
        trials=[_trial(row, meaning, is_whole) for row in rows],
        clock=_clock(source, first.get("clock"), has_seconds),
        meaning=meaning,
        names=known,
        metric=first.get("metric"),
        problem=first.get("problem"),
        constant_loss=first.get("constant_loss"),
        budget_seconds=first.get("budget_seconds"),
        data_sha256=first.get("data_sha256"),
        utc=first.get("run_started_utc"),
    )


def _clock(source: Path, told: str | None, has_seconds: bool) -> SourceClock:
    if told is not None and told not in set(SourceClock):
        raise UserError(f"{source}: clock {told!r} is none of {', '.join(SourceClock)}")
    if not has_seconds:
        return SourceClock.TRIALS
    return SourceClock(told) if told is not None else SourceClock.DURATIONS


_NEEDED = ("status", "started_seconds", "ended_seconds", "ask_seconds", "fit_seconds", "validate_seconds")


def _is_whole(row: CsvRow) -> bool:
    """Whether a row has all that a line of a trace needs."""
    if any(row.get(name) is None for name in (*_NEEDED, "number", "thread")):
        return False
    return bool((row["status"] == Status.OK) == (row.get("loss") is not None))


def _trial(row: CsvRow, meaning: Meaning, is_whole: bool) -> FoundTrial:
    value = row.get(str(meaning))
    status = Status(row.get("status") or (Status.FAILED if value is None else Status.OK))
    record = _record(row, status) if is_whole else None
    return FoundTrial(
        config=row["config"],
        status=status,
        value=value if status is Status.OK else None,
        started=row.get("started_seconds"),
        ended=row.get("ended_seconds"),
        seconds=row.get(DURATION),
        rows=row.get("rows"),
        error=row.get("error"),
        record=record,
    )


def _record(row: CsvRow, status: Status) -> TrialRecord:
    names = {"started": "started_seconds", "ended": "ended_seconds"}
    fields: CsvRow = {name: row.get(names.get(name, name)) for name in TrialRecord.__struct_fields__}
    return TrialRecord(**{**fields, "status": status})
