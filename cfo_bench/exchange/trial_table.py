"""The table of trials, one row per trial: its columns, and the CSV and Parquet files.

docs/exchange.md describes the columns. A hyperparameter is a column `config.NAME`. Runs are read and written
one after the other, because a results folder may be larger than memory. CSV files can be imported: exported
ones, and others with one row per trial, whose columns have these names or are named by the user.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cfo_bench.errors import TraceError, UnknownNameError, UserError, did_you_mean
from cfo_bench.exchange.exported_runs import RunToExport
from cfo_bench.exchange.imported_trace import Meaning, SourceClock, SourceRun, SourceTrial, read_text
from cfo_bench.files.writing import from_no_formula, no_formula
from cfo_bench.records import Status
from cfo_bench.results.frames import CONFIG_PREFIX, RUN_KEYS
from cfo_bench.results.run import Run
from cfo_bench.results.schema import TrialRecord
from cfo_bench.space import Categorical, Int, Value
from cfo_bench.values import LEAST_INT, MOST_INT

# --- columns --------------------------------------------------------------------------------------

# The type of each column. The first columns describe the run, the others the trial.
RUN_COLUMNS: dict[str, type] = {
    "learner": str,
    "task": str,
    "method": str,
    "fold": int,
    "seed": int,
    "origin": str,  # "cfo-bench", or the format that the run was imported from
    "clock": str,
    "budget_seconds": float,
    "end_reason": str,
    "problem": str,
    "metric": str,
    "validation": str,
    "constant_loss": float,
    "data_sha256": str,
    "run_started_utc": str,
    "cfo_bench_version": str,
}
TRIAL_COLUMNS: dict[str, type] = {
    "number": int,
    "status": str,
    "loss": float,
    "score": float,
    "test_score": float,
    "started_seconds": float,
    "ended_seconds": float,
    "ask_seconds": float,
    "fit_seconds": float,
    "validate_seconds": float,
    "tell_seconds": float,
    "peak_memory_mb": float,
    "rows": int,
    "thread": int,
    "error": str,
}
# The columns of fields of a TrialRecord whose names lack a unit.
COLUMN_OF = {"started": "started_seconds", "ended": "ended_seconds"}


# --- writing --------------------------------------------------------------------------------------


def columns_of(runs: Iterable[RunToExport]) -> dict[str, type | None]:
    """Every column with its type; None for a hyperparameter whose values are of several types."""
    return {**RUN_COLUMNS, **TRIAL_COLUMNS, **config_columns(runs, _common)}


def config_columns(
    runs: Iterable[RunToExport], common: Callable[[set[type]], type | None]
) -> dict[str, type | None]:
    """The columns of the hyperparameters, each with the `common` type of its values."""
    kinds: dict[str, set[type]] = {}
    for run in runs:
        for name, types in config_types(run).items():
            kinds.setdefault(name, set()).update(types)
    return {f"{CONFIG_PREFIX}{name}": common(types) for name, types in sorted(kinds.items())}


def arrow_schema(columns: Mapping[str, type | None]) -> Any:
    """The schema of a Parquet file with these columns; None is text."""
    import pyarrow as pa

    types: dict[type | None, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return pa.schema([(name, types.get(kind, pa.string())) for name, kind in columns.items()])


def write_csv(path: Path, runs: Sequence[RunToExport]) -> int:
    """Writes the table, and returns the number of its trials."""
    columns = columns_of(runs)
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(text_cell(name) for name in columns)
        for run in runs:
            for row in rows_of(run, run.read()):
                writer.writerow([_cell_of(name, row.get(name, _ABSENT)) for name in columns])
                count += 1
    return count


def write_parquet(path: Path, runs: Sequence[RunToExport]) -> int:
    """Writes the table with one row group for each run, and returns the number of its trials."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = columns_of(runs)
    schema = arrow_schema(columns)
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        for run in runs:
            rows = list(rows_of(run, run.read()))
            count += len(rows)
            values = {
                name: [typed(run.run.path, name, row.get(name), kind) for row in rows]
                for name, kind in columns.items()
            }
            if rows:
                writer.write_table(pa.table(values, schema))
    return count


WRITERS = {".csv": write_csv, ".parquet": write_parquet}


def writer_for(path: Path) -> Callable[[Path, Sequence[RunToExport]], int]:
    """The function that writes a file with this suffix; a UserError for other suffixes."""
    if path.suffix.lower() not in WRITERS:
        raise UserError(f"can't write {str(path)!r}: a table of trials is a {' or '.join(WRITERS)} file")
    return WRITERS[path.suffix.lower()]


def rows_of(exported: RunToExport, run: Run) -> Iterator[dict[str, Any]]:
    """The rows of a run, in the order in which its trials ended."""
    columns = run_columns(exported, run)
    for trial in run.trials:
        yield {**columns, **_trial_columns(trial)}


def run_columns(exported: RunToExport, run: Run) -> dict[str, Any]:
    """The columns that all rows of a run have in common."""
    header, imported = run.header, run.header.imported
    return {
        **exported.names,
        "origin": imported.format if imported else "cfo-bench",
        "clock": imported.clock if imported else run.spec.clock,
        "budget_seconds": run.budget_seconds,
        "end_reason": None if run.end is None else str(run.end.reason),
        "problem": str(header.problem),
        "metric": header.metric,
        "validation": run.spec.validation,
        "constant_loss": header.constant_loss,
        "data_sha256": header.data.sha256,
        "run_started_utc": header.utc,
        "cfo_bench_version": header.cfo_bench.version if header.cfo_bench else None,
    }


def _trial_columns(trial: TrialRecord) -> dict[str, Any]:
    facts = {COLUMN_OF.get(name, name): getattr(trial, name) for name in TrialRecord.__struct_fields__}
    configs = {f"{CONFIG_PREFIX}{name}": value for name, value in trial.config.items()}
    return {**facts, "status": str(trial.status), **configs}


def config_types(run: RunToExport) -> dict[str, set[type]]:
    """The types of each hyperparameter's values: those of its space; without a space, those of its trials."""
    space = run.space
    types: dict[str, set[type]] = {}
    for param in space or ():
        if isinstance(param, Categorical):
            types[param.name] = set(map(type, param.choices))
        else:
            types[param.name] = {int if isinstance(param, Int) else float}
    if space is None:
        for trial in run.read().trials:
            for name, value in trial.config.items():
                types.setdefault(name, set()).add(type(value))
    return types


def _common(types: set[type]) -> type | None:
    known = types - {type(None)}
    if known == {int, float}:
        return float
    return known.pop() if len(known) == 1 else None


_ABSENT: Any = object()


def _cell_of(column: str, value: Any) -> str:
    if value is _ABSENT:
        return ""
    if column.startswith(CONFIG_PREFIX):
        return cell(value)
    if value is None:
        return ""
    return text_cell(value) if isinstance(value, str) else cell(value)


def typed(path: Path, name: str, value: Value, kind: type | None) -> Value:
    """The value for its column: text, as in a CSV file, if the column has values of several types."""
    if value is None:
        return None
    if kind is None:
        return cell(value)
    if type(value) is kind or (kind is float and type(value) is int):
        return kind(value)
    raise TraceError(f"{path} has a trial with {name} = {value!r}, which its search space does not have")


# --- reading --------------------------------------------------------------------------------------

# The duration of a trial: a column that files of other programs may have, and ours do not.
_DURATION = "seconds"
READABLE_COLUMNS: dict[str, type] = {**RUN_COLUMNS, **TRIAL_COLUMNS, _DURATION: float}

CsvRow = dict[str, Any]


def read_csv(
    source: Path, columns: Mapping[str, str] | None = None, hyperparameters: Sequence[str] = ()
) -> list[SourceRun]:
    """The runs of a file, identified by the columns learner, task, method, fold and seed.

    `columns` maps our names of columns to the names in this file. The columns of hyperparameters are the
    given ones; if none are given, those that begin with `config.`; if none do, all unknown columns.
    """
    lines = list(_lines(source))
    if len(lines) < 2:
        raise UserError(
            f"{str(source)!r} has no trials: it needs a line of column names, then one line for each trial"
        )
    (_, head), *rows = lines
    known, configs = _columns(source, head, columns or {}, hyperparameters)
    groups: dict[tuple[Any, ...], list[CsvRow]] = {}
    for number, cells in rows:
        row = _row(f"{source}, line {number}", dict(zip(head, cells, strict=True)), known, configs)
        groups.setdefault(tuple(row.get(name) for name in RUN_KEYS), []).append(row)
    return [_run(source, of_run) for of_run in groups.values()]


def _lines(source: Path) -> list[tuple[int, list[str]]]:
    """The lines that are not empty, each with its number."""
    reader = csv.reader(read_text(source).splitlines(keepends=True), strict=True)
    lines: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            if any(cells):
                lines.append((reader.line_num, cells))
                if len(cells) != len(lines[0][1]):
                    raise UserError(
                        f"{source}, line {reader.line_num}: {len(cells)} values for {len(lines[0][1])} "
                        "columns: quote commas"
                    )
    except csv.Error as error:
        place = f"{source}, line {reader.line_num}"
        raise UserError(f"{place}: not valid CSV ({error}): check its quotes") from None
    return lines


def _columns(
    source: Path, head: Sequence[str], given: Mapping[str, str], hyperparameters: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The known columns and the hyperparameters, each with the name of its column in the file."""
    for name in head:
        if head.count(name) > 1:
            raise UserError(f"{source}: column {name!r} exists twice: rename one")
    for ours, theirs in given.items():
        if ours not in READABLE_COLUMNS:
            raise UserError(
                f"{ours!r} is not a column that a trial has{did_you_mean(ours, READABLE_COLUMNS)}: choose "
                f"from {', '.join(READABLE_COLUMNS)}"
            )
        if theirs not in head:
            raise UnknownNameError(f"column of {source}", theirs, head)
    known = {name: given.get(name, name) for name in READABLE_COLUMNS if given.get(name, name) in head}
    if "loss" not in known and "score" not in known:
        raise UserError(
            f"{source} has neither a column loss nor score: name it, as in --column loss=val_loss "
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
    row: CsvRow = {name: _parsed(place, cells[column], name) for name, column in known.items()}
    row["config"] = {name: value_of(cells[column]) for name, column in configs.items() if cells[column]}
    status = row.get("status")
    if status is not None and status not in set(Status):
        raise UserError(f"{place}: status {status!r} is not one of {', '.join(Status)}")
    return row


def _parsed(place: str, text: str, name: str) -> Any:
    kind = READABLE_COLUMNS[name]
    if not text.strip():
        return None
    if kind is str:
        return text_of(text)
    try:
        value = kind(text)
    except ValueError:
        raise UserError(f"{place}: {name} {text!r} is not a {'whole ' * (kind is int)}number") from None
    # A failed trial has an infinite loss; nothing else can be infinite, or negative.
    if name not in ("loss", "score", "test_score", "constant_loss") and not 0 <= value < math.inf:
        raise UserError(f"{place}: {name} {text!r} is not a number from 0 on")
    return value


def _run(source: Path, rows: Sequence[CsvRow]) -> SourceRun:
    first = rows[0]
    is_whole = all(_is_whole(row) for row in rows)
    has_ends = all(row.get("ended_seconds") is not None for row in rows)
    has_seconds = has_ends or all(row.get(_DURATION) is not None for row in rows)
    meaning = Meaning.LOSS if any(row.get("loss") is not None for row in rows) else Meaning.SCORE
    names = {name: first[name] for name in RUN_KEYS if first.get(name) is not None}
    names.setdefault("method", source.stem)
    return SourceRun(
        trials=[_trial(row, meaning, is_whole) for row in rows],
        clock=_clock(source, first.get("clock"), has_seconds),
        meaning=meaning,
        names=names,
        metric=first.get("metric"),
        problem=first.get("problem"),
        constant_loss=first.get("constant_loss"),
        budget_seconds=first.get("budget_seconds"),
        data_sha256=first.get("data_sha256"),
        utc=first.get("run_started_utc"),
    )


def _clock(source: Path, name: str | None, has_seconds: bool) -> SourceClock:
    if name is not None and name not in set(SourceClock):
        raise UserError(f"{source}: clock {name!r} is not one of {', '.join(SourceClock)}")
    if not has_seconds:
        return SourceClock.TRIALS
    return SourceClock(name) if name is not None else SourceClock.DURATIONS


_REQUIRED = (
    *("number", "thread", "status", "started_seconds", "ended_seconds"),
    *("ask_seconds", "fit_seconds", "validate_seconds"),
)


def _is_whole(row: CsvRow) -> bool:
    """Whether a row contains everything that a line of a trace needs."""
    if any(row.get(name) is None for name in _REQUIRED):
        return False
    return bool((row["status"] == Status.OK) == (row.get("loss") is not None))


def _trial(row: CsvRow, meaning: Meaning, is_whole: bool) -> SourceTrial:
    value = row.get(str(meaning))
    status = Status(row.get("status") or (Status.FAILED if value is None else Status.OK))
    record = _record(row, status) if is_whole else None
    return SourceTrial(
        config=row["config"],
        status=status,
        value=value if status is Status.OK else None,
        started=row.get("started_seconds"),
        ended=row.get("ended_seconds"),
        seconds=row.get(_DURATION),
        rows=row.get("rows"),
        error=row.get("error"),
        record=record,
    )


def _record(row: CsvRow, status: Status) -> TrialRecord:
    fields: CsvRow = {name: row.get(COLUMN_OF.get(name, name)) for name in TrialRecord.__struct_fields__}
    return TrialRecord(**{**fields, "status": status})


# --- cells ----------------------------------------------------------------------------------------
# Values of hyperparameters and texts are converted to cells of a CSV file and back without a change.
#
# A number, true, false and null are written as in JSON, and text is written without quotes. Text that would
# be read as another type is written as JSON, in quotes. Text that a spreadsheet would execute gets an
# apostrophe.


def cell(value: Value) -> str:
    """The value of a hyperparameter; an empty cell means that there is no such hyperparameter."""
    if not isinstance(value, str):
        return json.dumps(value)
    return text_cell(value) if _literal(value) is _NO_LITERAL else json.dumps(value, ensure_ascii=False)


def value_of(text: str) -> Value:
    """The value in a cell that is not empty."""
    value = _literal(text)
    if value is not _NO_LITERAL:
        return value  # type: ignore[no-any-return]
    return from_no_formula(text)


def text_cell(text: str) -> str:
    """A text in a column that contains only texts."""
    if not text or text[0] in "'\"" or "\r" in text:
        return json.dumps(text, ensure_ascii=False)
    return no_formula(text)


def text_of(text: str) -> str | None:
    """The text that `text_cell` wrote; None for an empty cell."""
    if not text:
        return None
    value = _literal(text) if text[0] == '"' else None
    return value if isinstance(value, str) else from_no_formula(text)


_NO_LITERAL = object()
_PYTHON = {"True": True, "False": False}  # as pandas writes them


def _literal(text: str) -> Any:
    """The JSON value of the text, if it is a number that a trace can hold, a text, true, false or null."""
    try:
        value = _PYTHON[text] if text in _PYTHON else json.loads(text)
    except (ValueError, RecursionError):
        return _NO_LITERAL
    if isinstance(value, dict | list) or text != text.strip():
        return _NO_LITERAL
    if isinstance(value, float) and not math.isfinite(value):
        return _NO_LITERAL
    if isinstance(value, int) and not LEAST_INT <= value <= MOST_INT:
        return _NO_LITERAL
    return value
