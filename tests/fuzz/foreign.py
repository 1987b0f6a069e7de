"""Files of other programs and of strangers: imports, surrogates, odd spaces, and comparisons."""

from __future__ import annotations

import json
import random
import sqlite3
import warnings
import zipfile
from collections.abc import Callable, Sequence
from contextlib import chdir, suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from shlex import split
from typing import TYPE_CHECKING, Any

import msgspec

from cfo_bench.results.comparison_record import FILE_NAME, ComparisonRecord, read_record
from tests.fuzz import damage, odd
from tests.fuzz.checks import call_program
from tests.fuzz.damage import Damaged
from tests.helpers.surrogates import write_traces

if TYPE_CHECKING:
    from tests.fuzz.cases import Case

# --- imports --------------------------------------------------------------------------------------

_FACTS = ["--learner", "xgboost", "--task", "t", "--metric", "mse"]

_SMAC = {
    "runhistory.json": {
        "stats": {"submitted": 3},
        "data": [
            {
                "config_id": number + 1, "instance": None, "seed": 0, "budget": budget,
                "cost": 0.5 - number / 10, "time": 0.25, "cpu_time": 0.2, "status": status,
                "starttime": 1e9 + number, "endtime": 1e9 + number + 0.5, "additional_info": {"error": "why"},
            }
            for number, (budget, status) in enumerate([(100, 1), (None, 2), (300, 1)])
        ],
        "configs": {str(number): {"x": number - 0.5, "n": number, "k": "a"} for number in (1, 2, 3)},
        "config_origins": {},
    },
    "configspace.json": {
        "name": None,
        "hyperparameters": [
            {"type": "uniform_float", "name": "x", "lower": 0.1, "upper": 9.0, "log": True},
            {"type": "uniform_int", "name": "n", "lower": 0, "upper": 9, "log": False},
            {"type": "categorical", "name": "k", "choices": ["a", "b"]},
            {"type": "ordinal", "name": "o", "sequence": [1, 2]},
            {"type": "constant", "name": "c", "value": 7},
        ],
        "conditions": [],
        "forbiddens": [],
    },
    "scenario.json": {"name": "demo", "seed": 3, "n_trials": 9, "walltime_limit": 60.0},
}  # fmt: skip

_AUTOML = [
    {
        "record_id": number, "iter_per_learner": number, "logged_metric": 0.5, "trial_time": 0.25,
        "wall_clock_time": number + 1.0, "validation_loss": 0.5 - number / 10, "learner": "lgbm",
        "sample_size": 100 * (number + 1), "config": {"n_estimators": 4 + number, "learning_rate": 0.1},
    }
    for number in range(3)
]  # fmt: skip
_TUNE = [
    f"result: {{'loss': {0.5 - number / 10}, 'training_iteration': 0, 'time_total_s': 0.25, "
    f"'config': {{'x': {number}.5, 'k': 'a'}}, 'config/x': {number}.5, 'experiment_tag': 'exp'}}"
    for number in range(3)
]
_CSV = "number,started,ended,loss,status,x,k\n" + "".join(
    f"{number},{number},{number + 0.5},{0.5 - number / 10},ok,{number},a\n" for number in range(4)
)


@cache
def _optuna(folder: Path) -> tuple[bytes, bytes]:
    """A journal and an SQLite file, with a study of Optuna's own and one that cfo-bench has exported."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    from cfo_bench import export_to_optuna

    def evaluate(trial: Any) -> float:
        x, n = trial.suggest_float("x", 0.1, 9.0, log=True), trial.suggest_int("n", 1, 9, step=2)
        trial.suggest_categorical("k", ["a", None, 3])
        trial.report(x, 1)
        if n == 1:
            raise optuna.TrialPruned
        return float(x)

    folder.mkdir(exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    write_traces(folder / "results", methods=["rs"], folds=[0], trials=3)
    journal, sqlite = folder / "trials.log", folder / "trials.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for storage in (JournalStorage(JournalFileBackend(str(journal))), f"sqlite:///{sqlite}"):
            study = optuna.create_study(
                storage=storage, study_name="own", sampler=optuna.samplers.RandomSampler(seed=0)
            )
            study.optimize(evaluate, n_trials=5)
        export_to_optuna(folder / "results", str(journal))
        export_to_optuna(folder / "results", f"sqlite:///{sqlite}")
    return journal.read_bytes(), sqlite.read_bytes()


def _json_lines(whole: bytes, rng: random.Random) -> Damaged:
    """A value, or a value in the JSON text that a value holds, changed in one line; or lines, or bytes."""
    lines = whole.splitlines()
    at = rng.randrange(len(lines))
    kind = rng.choices(["value", "inner", "lines", "bytes"], [6, 3, 1, 1])[0]
    if kind == "lines":
        line = lines.pop(at)
        if rng.random() < 0.7:
            lines.insert(rng.randrange(len(lines) + 1), line)
        return f"line {at + 1} moved", b"\n".join(lines) + b"\n"
    if kind == "bytes":
        return rng.choice([damage.torn, damage.flipped, damage.spliced])(whole, rng)
    row = json.loads(lines[at])
    texts = [key for key, value in row.items() if isinstance(value, str) and value[:1] in ("{", "[")]
    if kind == "inner" and texts:
        key = rng.choice(texts)
        what, inner = damage.mistyped(json.loads(row[key]), rng)
        row[key] = damage.dumps(inner).decode("utf-8", "replace")
    else:
        what, row = damage.mistyped(row, rng)
    lines[at] = damage.dumps(row)
    return f"line {at + 1}: {what}", b"\n".join(lines) + b"\n"


def _sqlite(whole: bytes, rng: random.Random, place: Path) -> str:
    """Writes the database with a cell, a row or a table changed; or its bytes."""
    if rng.random() < 0.25:
        what, data = rng.choice([damage.torn, damage.flipped, damage.flipped, damage.spliced])(whole, rng)
        place.write_bytes(data)
        return what
    place.write_bytes(whole)
    database = sqlite3.connect(place)
    database.execute("PRAGMA foreign_keys = OFF")
    database.execute("PRAGMA ignore_check_constraints = ON")
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    filled = [name for name in tables if database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]]
    table = rng.choice(filled)
    rowids = [rowid for (rowid,) in database.execute(f"SELECT rowid FROM {table}")]
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    rowid, column = rng.choice(rowids), rng.choice(columns)
    kind = rng.choices(["cell", "row", "table", "inner"], [6, 2, 1, 4])[0]
    what = f"{kind} {table}.{column}"
    with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
        if kind == "row":
            database.execute(f"DELETE FROM {table} WHERE rowid = ?", [rowid])
        elif kind == "table":
            database.execute(f"DROP TABLE {table}")
        else:
            value = odd.value(rng)
            [text] = database.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", [rowid]).fetchone()
            if kind == "inner" and isinstance(text, str) and text[:1] in ("{", "["):
                _, inner = damage.mistyped(json.loads(text), rng)
                value = damage.dumps(inner).decode("utf-8", "replace")
            if isinstance(value, dict | list):
                value = json.dumps(value)
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [value, rowid])
    database.commit()
    database.close()
    return what


def _text(whole: str, rng: random.Random) -> Damaged:
    """A cell or literal of a text replaced; or its bytes."""
    if rng.random() < 0.3:
        return rng.choice([damage.torn, damage.flipped, damage.spliced])(whole.encode(), rng)
    parts = whole.replace("'", "\0'").replace(",", "\0,").replace("\n", "\0\n").split("\0")
    at, value = rng.randrange(len(parts)), odd.value(rng)
    text = value if isinstance(value, str) else rng.choice([repr(value), json.dumps(value)])
    parts[at] = parts[at][:1] + text
    return f"part {at} is {text[:40]!r}", "".join(parts).encode("utf-8", "surrogatepass")


def imports(case: Case, only: range | None) -> None:
    """A damaged source of each format; what is imported, every command can read."""
    rng = case.rng(0)
    kind = rng.choice(["journal", "sqlite", "smac", "automl", "tune", "csv"])
    source, words = case.work / f"source.{kind}", ["--from", "flaml" if kind in ("automl", "tune") else kind]
    if kind in ("journal", "sqlite"):
        journal, sqlite = _optuna(case.templates.folder / "optuna")
        words = ["--from", "optuna"]
        if kind == "journal":
            what, data = _json_lines(journal, rng)
            source.write_bytes(data)
        else:
            what = _sqlite(sqlite, rng, source)
    elif kind == "smac":
        source.mkdir()
        damaged = rng.choice(list(_SMAC))
        for name, content in _SMAC.items():
            what_here, data = "", json.dumps(content).encode()
            if name == damaged:
                what_here, data = damage.json_or_bytes(content, rng)
                what = f"{name}: {what_here}"
            (source / name).write_bytes(data)
    elif kind == "automl":
        what, data = _json_lines("\n".join(map(json.dumps, _AUTOML)).encode(), rng)
        source.write_bytes(data)
    else:
        what, data = _text("\n".join(_TUNE) if kind == "tune" else _CSV, rng)
        source.write_bytes(data)
    case.done.inputs.append(f"{kind}: {what}")
    words = ["import", str(source), *words, *_FACTS, "--results", str(case.results)]
    answer = case.call(*words, writes=[case.results])
    if answer.crash is None and answer.exit_code == 0:
        for command in ("status", "best"):
            again = case.call(command, str(case.results), "--json")
            if again.exit_code and "has a result yet" not in again.err:
                case.fail(f"import: it writes what {command} refuses", f"{what}: {again.err[-200:]}")


# --- surrogates -----------------------------------------------------------------------------------


@cache
def _surrogate(folder: Path) -> bytes:
    from tests.fuzz.checks import call

    folder.mkdir(exist_ok=True)
    write_traces(folder / "results", methods=["rs", "cfo"], trials=40)
    answer = call(["surrogate", "fit", str(folder / "results"), "-o", str(folder / "s.cbs"), "--force"])
    if answer.exit_code:
        raise RuntimeError(f"no surrogate: {answer.err or answer.crash}")
    return (folder / "s.cbs").read_bytes()


def _zip(whole: bytes, rng: random.Random) -> Damaged:
    """A value of the text, the header or the numbers of an array, a part or bytes of an archive changed."""
    kind = rng.choices(["text", "header", "numbers", "part", "bytes"], [8, 4, 3, 1, 2])[0]
    if kind == "bytes":
        return rng.choice([damage.torn, damage.flipped, damage.spliced])(whole, rng)
    with zipfile.ZipFile(BytesIO(whole)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    [text] = [name for name in parts if name.endswith(".json")]
    name = rng.choice([name for name in parts if name != text])
    if kind == "text":
        what, row = damage.mistyped(json.loads(parts[text]), rng)
        parts[text] = damage.dumps(row)
    elif kind == "part":
        what = f"{name} missing"
        del parts[name]
    else:
        start = 10 if kind == "header" else 128
        head, rest = parts[name][:start], parts[name][start:]
        size = 118 if kind == "header" else len(rest)
        inner, data = rng.choice([damage.flipped, damage.spliced, damage.torn])(rest[:size], rng)
        if kind == "header" and rng.random() < 0.5:
            old, new = rng.choice([(b"<f8", b"|O8"), (b"False", b"None"), (b"(", b"(-1,"), (b"}", b"")])
            inner, data = "another header", rest[:size].replace(old, new)
        parts[name] = head + data + rest[size:]
        what = f"{name}, {kind}: {inner}"
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return what, out.getvalue()


def surrogates(case: Case, only: range | None) -> None:
    """A damaged file of surrogates; or a damaged trace of a run on a whole one."""
    rng, whole = case.rng(0), _surrogate(case.templates.folder / "surrogate")
    is_file_damaged = rng.random() < 0.7
    what, data = _zip(whole, rng) if is_file_damaged else ("a trace", whole)
    (case.work / "s.cbs").write_bytes(data)
    case.call("surrogate", "show", "s.cbs")
    run = split("run --surrogate s.cbs --method rs --budget 60 --max-trials 2 --folds 0 -q")
    case.call(*run, "--dry-run")
    case.call(*run, "--results", "simulated", writes=[case.work / "simulated"])
    if not is_file_damaged:
        [trace] = (case.work / "simulated").rglob("*.jsonl")
        what, data = _odd_trace(trace.read_bytes(), rng, learner="surrogate:xgboost")
        trace.write_bytes(data)
        case.call("surrogate", "show", "s.cbs", "simulated")
    case.done.inputs.append(what)


# --- traces with odd spaces -----------------------------------------------------------------------

# Which parts of a trace the commands below use, and a report does not.
_PARTS: Sequence[tuple[str, ...]] = (("space",), ("start",), ("config",), ("spec",), ("data",), ())


def _odd_trace(whole: bytes, rng: random.Random, learner: str) -> Damaged:
    """A trace of this learner, in which one part of the header or of a trial is odd."""
    rows = [json.loads(line) for line in whole.splitlines()[:-1]]
    rows[0]["spec"]["learner"] = learner
    part = rng.choice(_PARTS)
    row = rows[0] if part != ("config",) else rng.choice(rows[1:])
    if part:
        what, inner = damage.mistyped({part[0]: row[part[0]]}, rng)
        row |= inner
        if part[0] not in inner:
            del row[part[0]]
    else:
        what, changed = damage.mistyped(row, rng)
        row.clear()
        row.update(changed)
    return what, b"".join(damage.dumps(line) + b"\n" for line in rows)


def strangers(case: Case, only: range | None) -> None:
    """A trace with an odd space, start or configuration, through the commands that use these."""
    what, data = _odd_trace(case.templates.traces[0], case.rng(0), learner="xgboost")
    path = case.trace_path(0, "xgboost")
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    case.done.inputs.append(what)
    results = str(case.results)
    case.call("replay", str(path))
    for name in ("t.csv", "t.parquet"):
        case.call("export", results, "-o", name, writes=[case.work / name])
    case.call("export", results, "--to", "deepcave", "caves", writes=[case.work / "caves"])
    case.call("export", results, "--to", "optuna", "t.log", writes=[case.work / "t.log"])
    case.call("best", results)
    case.call("best", results, "--json")
    answer = case.call("best", results, "--python")
    if answer.exit_code == 0 and answer.crash is None:
        compile(answer.out, "script.py", "exec")
    case.call("surrogate", "fit", results, "-o", "s.cbs", "--force", writes=[case.work / "s.cbs"])


# --- comparisons ----------------------------------------------------------------------------------

_COMPARED = "a,b,fold,y\n" + "".join(
    f"{number * 7 % 11},{number * 5 % 13}.5,{number // 2 % 2},{number % 2}\n" for number in range(60)
)
# The folds are the data's own: the same command again finds all of them done, and takes a second or two.
_COMPARE = ["compare", "--data", "data.csv", "--target", "y", "--split", "column:fold", "--for", "15s"]
_COMPARE += ["--learner", "knn", "--method", "rs", "--jobs", "1", "-q", "--results", "results"]


@cache
def _comparison(folder: Path) -> dict[Path, bytes]:
    """The files of a comparison; on a busy machine it may not have finished."""
    folder.mkdir(exist_ok=True)
    (folder / "data.csv").write_text(_COMPARED)
    with chdir(folder):
        answer = call_program(_COMPARE)
    if answer.exit_code and "give more time" not in answer.err:
        raise RuntimeError(f"no comparison: {answer.err or answer.crash}")
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def comparisons(case: Case, only: range | None) -> None:
    """A finished comparison in which one file is damaged; seldom the same command again."""
    template, rng = case.templates.folder / "comparison", case.rng(0)
    case.said("compare")  # the first case makes the template
    files = _comparison(template)
    damaged = rng.choices(sorted(files), [6 if path.name == FILE_NAME else 1 for path in sorted(files)])[0]
    for path, whole in files.items():
        data = whole.replace(str(template).encode(), str(case.work).encode())
        if path == damaged:
            what, data = _odd_file(path, data, rng)
            case.done.inputs.append(f"{path}: {what}")
        (case.work / path).parent.mkdir(parents=True, exist_ok=True)
        (case.work / path).write_bytes(data)
    record = read_record(case.results)
    if record is not None:
        msgspec.convert(msgspec.to_builtins(record), ComparisonRecord)
    case.call("best", "results")
    if rng.random() < 0.2:
        case.call(*_COMPARE, writes=[case.results], by=call_program)
        if not {path.name for path in case.results.glob("*/")} <= {"knn"}:
            case.fail("compare: it ran a learner that nobody asked for", what)


def _odd_file(path: Path, whole: bytes, rng: random.Random) -> Damaged:
    if path.suffix == ".jsonl":
        return damage.trace(whole, rng)
    return _text(whole.decode(), rng) if path.suffix == ".csv" else damage.plan(whole, rng)


KINDS: dict[str, Callable[[Case, range | None], None]] = {
    "imports": imports,
    "surrogates": surrogates,
    "strangers": strangers,
    "comparisons": comparisons,
}
