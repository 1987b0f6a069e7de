"""The tidy table of trials, one row a trial: its columns, and the CSV or Parquet file that holds it.

docs/exchange.md describes the columns. A hyperparameter is a column `config.NAME`. Runs are read and written
one after the other: a folder of results may be larger than memory.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cfo_bench.errors import TraceError, UserError
from cfo_bench.exchange.exported_runs import RunToExport
from cfo_bench.files.writing import from_no_formula, no_formula
from cfo_bench.results.run import Run
from cfo_bench.results.schema import TrialRecord
from cfo_bench.space import LEAST_INT, MOST_INT, Categorical, Int, Value

# --- cells -----------------------------------------------------------------------------------------
# Values of hyperparameters and texts as cells of a CSV file, and back: each comes back as what it was.
#
# A number, true, false and null are written as JSON writes them, text as it is. Text that would be read as
# something else is written as JSON, in quotes. Text that a spreadsheet would execute gets an apostrophe.


def cell(value: Value) -> str:
    """The value of a hyperparameter; an empty cell means that there is no such hyperparameter."""
    if not isinstance(value, str):
        return json.dumps(value)
    return text_cell(value) if _literal(value) is _NO_LITERAL else json.dumps(value, ensure_ascii=False)


def value_of(text: str) -> Value:
    """The value in a cell that is not empty."""
    found = _literal(text)
    if found is not _NO_LITERAL:
        return found  # type: ignore[no-any-return]
    return from_no_formula(text)


def text_cell(text: str) -> str:
    """A text in a column that holds nothing but texts."""
    if not text or text[0] in "'\"" or "\r" in text:
        return json.dumps(text, ensure_ascii=False)
    return no_formula(text)


def text_of(text: str) -> str | None:
    """The text in such a cell; None for an empty one."""
    if not text:
        return None
    found = _literal(text) if text[0] == '"' else None
    return found if isinstance(found, str) else from_no_formula(text)


_NO_LITERAL = object()
_PYTHON = {"True": True, "False": False}  # as pandas writes them


def _literal(text: str) -> Any:
    """What the text is as JSON, if it is a number that a trace can hold, a text, true, false or null."""
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


# --- trial table -----------------------------------------------------------------------------------


CONFIG_PREFIX = "config."

# Which type each column has. The first ones are of the run, the others of the trial.
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
# Fields of a TrialRecord that have a unit in the name of their column.
_FIELDS = {"started_seconds": "started", "ended_seconds": "ended"}


def columns_of(runs: Iterable[RunToExport]) -> dict[str, type | None]:
    """Every column with its type; None for a hyperparameter whose values are of several types."""
    kinds: dict[str, set[type]] = {}
    for run in runs:
        for name, found in _config_kinds(run).items():
            kinds.setdefault(name, set()).update(found)
    configs = {f"{CONFIG_PREFIX}{name}": _common(found) for name, found in sorted(kinds.items())}
    return {**RUN_COLUMNS, **TRIAL_COLUMNS, **configs}


def write_csv(path: Path, runs: Sequence[RunToExport]) -> int:
    """Writes the table, and returns how many trials it has."""
    columns = columns_of(runs)
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(text_cell(name) for name in columns)
        for run in runs:
            for row in rows_of(run, run.read()):
                writer.writerow([_cell(name, row.get(name, _ABSENT)) for name in columns])
                count += 1
    return count


def write_parquet(path: Path, runs: Sequence[RunToExport]) -> int:
    """Writes the table with one row group a run, and returns how many trials it has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types: dict[type | None, Any] = {
        str: pa.string(),
        int: pa.int64(),
        float: pa.float64(),
        bool: pa.bool_(),
        None: pa.string(),
    }
    columns = columns_of(runs)
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        for run in runs:
            rows = list(rows_of(run, run.read()))
            count += len(rows)
            made = {
                name: [_typed(run.path, name, row.get(name), kind) for row in rows]
                for name, kind in columns.items()
            }
            if rows:
                writer.write_table(pa.table(made, schema))
    return count


WRITERS = {".csv": write_csv, ".parquet": write_parquet}


def writer_for(path: Path) -> Any:
    """The function that writes such a file; a UserError for a suffix that has none."""
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
    own = {name: getattr(trial, _FIELDS.get(name, name)) for name in TRIAL_COLUMNS}
    configs = {f"{CONFIG_PREFIX}{name}": value for name, value in trial.config.items()}
    return {**own, "status": str(trial.status), **configs}


def _config_kinds(run: RunToExport) -> dict[str, set[type]]:
    """The types of each hyperparameter's values: as its space says, else as its trials have them."""
    space = run.space
    kinds: dict[str, set[type]] = {}
    for param in space or ():
        if isinstance(param, Categorical):
            kinds[param.name] = set(map(type, param.choices))
        else:
            kinds[param.name] = {int if isinstance(param, Int) else float}
    if space is None:
        for trial in run.read().trials:
            for name, value in trial.config.items():
                kinds.setdefault(name, set()).add(type(value))
    return kinds


def _common(kinds: set[type]) -> type | None:
    some = kinds - {type(None)}
    if some == {int, float}:
        return float
    return some.pop() if len(some) == 1 else None


_ABSENT: Any = object()


def _cell(column: str, value: Any) -> str:
    if value is _ABSENT:
        return ""
    if column.startswith(CONFIG_PREFIX):
        return cell(value)
    if value is None:
        return ""
    return text_cell(value) if isinstance(value, str) else cell(value)


def _typed(path: Path, name: str, value: Value, kind: type | None) -> Value:
    """The value as its column holds it. Where types are mixed, it is text, as in a CSV file."""
    if value is None:
        return None
    if kind is None:
        return cell(value)
    if type(value) is kind or (kind is float and type(value) is int):
        return kind(value)
    raise TraceError(f"{path} has a trial with {name} = {value!r}, which its search space does not have")
