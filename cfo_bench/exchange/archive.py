"""An archive: the runs of a study in one Parquet file that is small enough to be published.

A run has a row with its header and its end record, then a row for each trial. Headers, ends and incumbents
are exact (except that times have single precision), so that a report on the restored traces has the same
scores, ranks and tests. Other trials are rounded, to keep the file small. A restored trace is marked as
imported: it can't be resumed or replayed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from cfo_bench.errors import UserError
from cfo_bench.exchange.exported_runs import RunToExport
from cfo_bench.exchange.imported_trace import ImportedTrace, Source, SourceClock, origin_of, read_bytes
from cfo_bench.exchange.trial_table import arrow_schema, cell, config_columns, typed, value_of
from cfo_bench.records import TrialStatus
from cfo_bench.results.frames import CONFIG_PREFIX, RUN_KEYS
from cfo_bench.results.run import Run, run_of_text
from cfo_bench.results.schema import (
    EndRecord,
    TrialRecord,
    decode,
    decode_header,
    encode,
)
from cfo_bench.results.trace import sealed_end
from cfo_bench.space import Float, Space

# The bits of a rounded number: its relative error is at most 0.4 %, or 0.8 % if it is rounded up.
MANTISSA_BITS = 8
# Rows that are compressed together.
ROWS_AT_ONCE = 20_000

_RUN_TYPES: dict[str, type] = dict(zip(RUN_KEYS, (str, str, str, int, int), strict=True))
_TRIAL_TYPES: dict[str, type] = {
    **dict.fromkeys(("number", "rows", "thread", "asked"), int),
    **dict.fromkeys(("status", "error"), str),
}
_TRIAL_FIELDS = tuple(name for name in TrialRecord.__struct_fields__ if name != "config")
_MOMENTS = ("started", "ended")

ArchiveRow = dict[str, Any]


# --- writing --------------------------------------------------------------------------------------


def write_archive(path: Path, runs: Sequence[RunToExport]) -> int:
    """Writes the file, and returns the number of its trials; a UserError if a run has not finished."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for exported in runs:
        if not exported.run.is_finished:
            raise UserError(f"{exported.run.path} has not finished: run the same command again to finish it")
    columns = _columns(runs)
    schema = arrow_schema(columns)
    numbers = [name for name, kind in columns.items() if kind is float]
    count = 0
    rows: list[ArchiveRow] = []
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in columns if name not in (*numbers, "number")],
        column_encoding={**dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"), "number": "DELTA_BINARY_PACKED"},
    ) as writer:
        for at, exported in enumerate(runs, start=1):
            run = exported.read()
            count += len(run.trials)
            rows += _rows(exported, run, columns)
            if len(rows) >= ROWS_AT_ONCE or at == len(runs):
                writer.write_table(pa.Table.from_pylist(rows, schema))
                rows.clear()
    return count


def _columns(runs: Sequence[RunToExport]) -> dict[str, type | None]:
    """Every column with its type; None for a text column in which each value states its own type."""
    trial = {name: _TRIAL_TYPES.get(name, float) for name in _TRIAL_FIELDS}
    return {**_RUN_TYPES, "header": str, "end": str, **trial, **config_columns(runs, _only_type)}


def _only_type(types: set[type]) -> type | None:
    return next(iter(types)) if types in ({int}, {float}, {bool}) else None


def _rows(exported: RunToExport, run: Run, columns: dict[str, type | None]) -> Iterator[ArchiveRow]:
    assert run.end is not None  # only finished runs are written
    yield {**exported.names, "header": encode(run.header).decode(), "end": encode(run.end).decode()}
    exact = _incumbents(run)
    for at, trial in enumerate(run.trials):
        kept = trial if at in exact else _rounded(trial, exported.space)
        row = {**exported.names, **{name: getattr(kept, name) for name in _TRIAL_FIELDS}}
        for name in _MOMENTS:
            row[name] = _moment(row[name], run.budget_seconds)
        for name, value in kept.config.items():
            column = f"{CONFIG_PREFIX}{name}"
            kind = columns[column]
            row[column] = cell(value) if kind is None else typed(run.path, column, value, kind)
        yield row


def _incumbents(run: Run) -> set[int]:
    """Indices of trials that were the best so far when they ended, among all trials or those on all rows."""
    train_rows = run.header.data.train_rows
    best: dict[bool, float] = {True: math.inf, False: math.inf}
    indices = set()
    for at, trial in sorted(enumerate(run.trials), key=lambda numbered: numbered[1].ended):
        if trial.loss is None or trial.ended > run.budget_seconds:
            continue
        for is_full in {False, trial.rows is None or trial.rows >= train_rows}:
            if trial.loss < best[is_full]:
                best[is_full] = trial.loss
                indices.add(at)
    return indices


def _rounded(trial: TrialRecord, space: Space | None) -> TrialRecord:
    """The trial with `MANTISSA_BITS` bits of each number that is not whole.

    A loss is rounded up, so that the trial does not become an incumbent. Its score follows from its loss.
    """
    numbers: dict[str, float | None] = {
        name: _round(value)
        for name in _TRIAL_FIELDS
        if name not in _MOMENTS and isinstance(value := getattr(trial, name), float)
    }
    if trial.loss is not None:
        numbers |= {"loss": _round(trial.loss, math.ceil), "score": None}
    config = {
        name: _round(value) if isinstance(value, float) else value for name, value in trial.config.items()
    }
    for param in space or ():
        if isinstance(param, Float) and isinstance(value := config.get(param.name), float):
            config[param.name] = min(max(value, param.low), param.high)
    return msgspec.structs.replace(trial, **numbers, config=config)


def _round(value: float, to_whole: Callable[[float], int] = round) -> float:
    mantissa, exponent = math.frexp(value)
    return math.ldexp(to_whole(mantissa * 2**MANTISSA_BITS), exponent - MANTISSA_BITS)


def _moment(seconds: float, budget_seconds: float) -> float:
    """A time in single precision. Rounding never moves it across the end of the budget."""
    return seconds if seconds > budget_seconds else min(float(np.float32(seconds)), budget_seconds)


# --- reading --------------------------------------------------------------------------------------


def is_archive(beginning: bytes) -> bool:
    """Whether a file with this beginning is Parquet."""
    return beginning.startswith(b"PAR1")


def read_archive(path: Path, source: Source) -> list[ImportedTrace]:
    """The traces of an archive."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(read_bytes(path)))
    if "header" not in file.schema_arrow.names:
        raise UserError(
            f"{path} has no headers of runs: give a file that `cfo-bench export --to archive` wrote, or CSV"
        )
    configs = {
        field.name: field.name.removeprefix(CONFIG_PREFIX)
        for field in file.schema_arrow
        if field.name.startswith(CONFIG_PREFIX)
    }
    traces: list[ImportedTrace] = []
    rows: list[ArchiveRow] = []
    for batch in file.iter_batches():
        for row in batch.to_pylist():
            if row["header"] is not None and rows:
                traces.append(_trace(path, rows, configs, source))
                rows = []
            rows.append(row)
    return [*traces, _trace(path, rows, configs, source)]


def _trace(
    path: Path, rows: Sequence[ArchiveRow], configs: Mapping[str, str], source: Source
) -> ImportedTrace:
    head, *others = rows
    header, end = decode_header(head["header"].encode()), decode(head["end"].encode())
    if not isinstance(end, EndRecord):
        raise UserError(f"{path}: a run has no end record: write the file again")
    clock = SourceClock(header.spec.clock)
    header = msgspec.structs.replace(header, imported=header.imported or origin_of(source, clock))
    space = [param.name for param in header.search_space or ()]
    lines = [encode(header)]
    for row in others:
        values = {name: row[column] for column, name in configs.items() if row[column] is not None}
        names = [name for name in space if name in values]
        config = {
            name: value_of(value) if isinstance(value := values[name], str) else value
            for name in dict.fromkeys((*names, *values))
        }
        facts = {name: row[name] for name in _TRIAL_FIELDS}
        if facts["loss"] is not None and facts["score"] is None:
            facts["score"] = header.metric_facts.to_score(facts["loss"])
        trial = TrialRecord(**{**facts, "status": TrialStatus(facts["status"]), "config": config})
        lines.append(encode(trial))
    text = b"".join(lines)
    content = text + encode(sealed_end(end, text))
    run_of_text(path, content, parse_trials=True)
    return ImportedTrace(header.spec, content, len(others), clock, (), ())
