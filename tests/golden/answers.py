"""What cfo-bench answers about the golden results folders: each case is a function that returns JSON.

Only the public interface is used: the command line and the documented library functions. An answer keeps
numbers, names, states and counts. Prose is left out, or reduced to which cells have the same text, so that
wording may change and results may not.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import re
import shlex
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from cfo_bench import load_results
from cfo_bench.__main__ import main

HERE = Path(__file__).resolve().parent
DATA, EXPECTED = HERE / "data", HERE / "expected"

# Results folders whose traces are all good.
FOLDERS = (
    "recorded", "methods", "real", "holdout", "parallel", "grown", "grown-trials", "program", "failed",
    "imported", "old", "killed", "stopped",
)  # fmt: skip
REPORTED = {name: [name] for name in FOLDERS if name not in ("imported", "killed", "stopped")}
REPORTED |= {
    "real and imported": ["real", "imported"],
    "methods, old and killed": ["methods", "old", "killed"],
}

Row = dict[str, Any]
Case = Callable[[], Any]
CASES: dict[str, Case] = {}


class Answer(NamedTuple):
    """What a command printed, and its exit code."""

    out: str
    err: str
    exit_code: int


def cfo_bench(*words: object) -> Answer:
    """Run a command in this process, as the installed program starts it."""
    before = sys.argv
    sys.argv = ["cfo-bench", *map(str, words)]
    code = 0
    with contextlib.redirect_stdout(Captured()) as out, contextlib.redirect_stderr(Captured()) as err:
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        finally:
            sys.argv = before
    return Answer(out.text(), err.text(), code)


class Captured(io.TextIOWrapper):
    """A text stream in memory with a `buffer`, as the standard streams have."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]


def good(*words: object) -> str:
    """The standard output of a command that has to succeed."""
    answer = cfo_bench(*words)
    assert answer.exit_code == 0, (words, answer.err[-2000:])
    return answer.out


@contextlib.contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """A copy of the data to work in, as the current folder: names in answers are relative to it.

    The processes of runs load the code of this checkout, also if another one is installed.
    """
    place = folder / "golden"
    if not place.exists():
        shutil.copytree(DATA, place)
    before, python_path = Path.cwd(), os.environ.get("PYTHONPATH")
    os.chdir(place)
    os.environ["PYTHONPATH"] = str(HERE.parents[1])
    try:
        yield place
    finally:
        os.chdir(before)
        os.environ.pop("PYTHONPATH")
        if python_path is not None:
            os.environ["PYTHONPATH"] = python_path


def case(name: str, *arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[name] = lambda: function(*arguments)
        return function

    return register


def each(kind: str, choices: dict[str, Any] | Sequence[str]) -> Callable[[Callable[[Any], Any]], Any]:
    """One case for each choice, called `kind, choice`."""

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for name in choices:
            argument = choices[name] if isinstance(choices, dict) else name
            case(f"{kind}, {name}", argument)(function)
        return function

    return register


# --- tables ---------------------------------------------------------------------------------------

# Columns in words: of these only counts which rows have the same text.
PROSE = {
    "verdict", "who", "target", "what", "detail", "over", "score_1_is", "test", "comparison", "recording",
    "folds", "reason", "error", "source",
}  # fmt: skip
MOST_ROWS = 16


def cell(value: Any) -> Any:
    """A number as a number, an empty cell as null, everything else as text."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | int | float):
        return value
    text = str(value)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], most_rows: int = MOST_ROWS) -> Row:
    """A table as JSON. Of a long one a few rows, and sums and a checksum of each column."""
    cells = [[cell(value) for value in row] for row in rows]
    for at, column in enumerate(columns):
        if column in PROSE:
            seen: dict[Any, int] = {None: 0}
            for row in cells:
                is_text = isinstance(row[at], str)
                row[at] = seen.setdefault(row[at], len(seen)) if is_text else row[at]
    found: Row = {"columns": list(columns), "count": len(cells)}
    if len(cells) <= most_rows:
        return {**found, "rows": cells}
    step = -(-len(cells) // 4)
    checks = {column: sums([row[at] for row in cells]) for at, column in enumerate(columns)}
    return {**found, "rows": cells[::step], "sums": checks}


def sums(values: Sequence[Any]) -> list[Any]:
    """The count of numbers, their sum, their sum weighted by the place, and a checksum of the text."""
    numbers = [(at, float(value)) for at, value in enumerate(values, 1) if isinstance(value, int | float)]
    texts = [(at, value) for at, value in enumerate(values, 1) if isinstance(value, str)]
    crc32 = zlib.crc32(json.dumps(texts).encode()) if texts else 0
    return [
        len(numbers),
        math.fsum(value for _, value in numbers),
        math.fsum(at * value for at, value in numbers),
        crc32,
    ]


def csv_table(path: Path) -> Row:
    with path.open(encoding="utf-8", newline="") as file:
        columns, *rows = list(csv.reader(file))
    return table(columns, rows)


def frame_table(frame: pd.DataFrame, most_rows: int = MOST_ROWS) -> Row:
    values = frame.astype(object).where(frame.notna(), None)
    types = {column: str(kind) for column, kind in frame.dtypes.items()}
    return {**table(list(frame.columns), values.to_numpy().tolist(), most_rows), "types": types}


# --- reading results ------------------------------------------------------------------------------


@each("status", FOLDERS)
def status(folder: str) -> Any:
    rows = json.loads(good("status", folder, "--json"))
    return [{**row, "reason": row["reason"] is not None} for row in rows]


@case("status, several folders", ["methods", "old", "killed", "stopped"])
def status_of_several(folders: list[str]) -> Any:
    rows = json.loads(good("status", *folders, "--json"))
    return [{**row, "reason": row["reason"] is not None} for row in rows]


@case("status, the table of killed and failed runs", ["killed", "failed"])
def status_table(folders: list[str]) -> Any:
    """The cells of the first table: a line of dashes separates its header from its rows."""
    return printed_table(good("status", *folders))


def printed_table(text: str) -> list[list[str]]:
    lines = text.splitlines()
    at = next(at for at, line in enumerate(lines) if re.fullmatch(r"[- ]+", line) and "-" in line)
    widths = [match.span() for match in re.finditer(r"-+", lines[at])]
    rows = [lines[at - 1]]
    for line in lines[at + 1 :]:
        if not line.strip():
            break
        rows.append(line)
    return [[row[low:high].strip() for low, high in widths] for row in rows]


@each("report", REPORTED)
def report(folders: list[str]) -> Any:
    out = Path("out") / "-".join(folders)
    summary = json.loads(good("report", *folders, "-o", out, "--format", "csv", "--json"))
    kept = (
        "learner",
        "tasks",
        "ranked",
        "baseline",
        "standings",
        "compared",
        "folds",
        "tested",
        "clock",
        "lead",
    )
    files = sorted(path for path in out.rglob("*.csv"))
    assert sorted(summary["files"]) == sorted(map(str, files))
    return {
        "learners": [{key: learner[key] for key in kept} for learner in summary["learners"]],
        "tables": {str(path.relative_to(out)): csv_table(path) for path in files},
    }


@case("report, with a shorter budget and one baseline")
def report_with_options() -> Any:
    words = ["--budget", "5", "--baseline", "rs", "--method", "cfo", "--method", "rs", "--method", "tpe"]
    good("report", "grown", "methods", "-o", "out/options", "--format", "csv", *words)
    paths = sorted(Path("out/options").rglob("*.csv"))
    wanted = ("overview.csv", "final-scores.csv", "trials.csv", "missing.csv")
    return {str(path): csv_table(path) for path in paths if path.name in wanted}


@each("best", FOLDERS)
def best(folder: str) -> Any:
    answer = cfo_bench("best", folder, "--json")
    return {"exit_code": answer.exit_code, "best": json.loads(answer.out) if answer.exit_code == 0 else None}


@each("export", FOLDERS)
def export(folder: str) -> Any:
    name = Path("out") / folder
    name.parent.mkdir(exist_ok=True)
    good("export", folder, "-o", f"{name}.csv")
    good("export", folder, "-o", f"{name}.parquet")
    frame = pd.read_parquet(f"{name}.parquet")
    return {"csv": csv_table(Path(f"{name}.csv")), "parquet": frame_table(frame, most_rows=0)}


@case("export, to Optuna")
def export_to_optuna() -> Any:
    import optuna
    from optuna.storages.journal import JournalFileBackend

    good("export", "grown-trials", "--to", "optuna", "studies.log")
    storage = optuna.storages.JournalStorage(JournalFileBackend("studies.log"))
    answer = {}
    for name in sorted(optuna.get_all_study_names(storage)):
        study = optuna.load_study(study_name=name, storage=storage)
        answer[name] = [
            {
                "state": trial.state.name, "value": trial.value, "params": trial.params,
                "distributions": {key: str(one) for key, one in trial.distributions.items()},
                "seconds": trial.duration.total_seconds() if trial.duration else None,
                "attributes": trial.user_attrs,
            }
            for trial in study.trials
        ]  # fmt: skip
    return answer


@case("export, to DeepCAVE")
def export_to_deepcave() -> Any:
    good("export", "grown-trials", "--to", "deepcave", "cave")
    return {str(path): csv_table(path) for path in sorted(Path("cave").rglob("*.csv"))}


@each("frames", FOLDERS)
def frames(folder: str) -> Any:
    results = load_results(folder)
    return {"runs": frame_table(results.runs), "trials": frame_table(results.trials, most_rows=0)}


@case("merge")
def merge() -> Any:
    """Two folders have one run in common: the one that has more of it is taken."""
    good("merge", "killed", "stopped", "methods", "real", "failed", "-o", "merged")
    merged = traces("merged")
    good("merge", "real", "program", "-o", "merged-again")
    good("merge", "grown", "-o", "merged-again")
    return {"five folders": merged, "three folders": traces("merged-again")}


@case("merge, folders that contradict each other")
def merge_of_contradictions() -> Any:
    """Every conflict is one line, and nothing is written."""
    answer = cfo_bench("merge", "methods", "parallel", "-o", "contradicting")
    runs = ("synthetic-5d/synthetic-1k/cfo/fold-0_seed-0", "synthetic-5d/synthetic-1k/rs/fold-0_seed-0")
    return {
        "exit_code": answer.exit_code,
        "lines": answer.err.count("\n"),
        "runs": [run for run in runs if run in answer.err],
        "is written": Path("contradicting").exists(),
    }


def traces(folder: str) -> dict[str, list[int]]:
    """The number of lines and the checksum of each trace."""
    return {
        str(path.relative_to(folder)): [path.read_bytes().count(b"\n"), zlib.crc32(path.read_bytes())]
        for path in sorted(Path(folder).rglob("*.jsonl"))
    }


REPLAYED = {
    name: f"{name}/{rest}/fold-0_seed-0.jsonl"
    for name, rest in {
        "methods": "synthetic-5d/synthetic-1k/cfo-0",
        "parallel": "synthetic-5d/synthetic-1k/cfo",
        "grown": "synthetic-5d/synthetic-30k/cfo",
        "grown-trials": "synthetic-5d/synthetic-1k/tpe",
        "program": "synthetic-5d/synthetic-1k/hill_climb",
        "real": "xgboost/iris/cfo",
        "old": "synthetic-5d/synthetic-1k/cfo",
        "stopped": "Slow/synthetic-1k/cfo",
        "imported": "xgboost/iris/imported tpe",
    }.items()
}


@each("replay", REPLAYED)
def replay(trace: str) -> Any:
    answer = cfo_bench("replay", trace, "--trust-method", "--json", "--budget", "0.5")
    return {"exit_code": answer.exit_code, "answer": json.loads(answer.out) if answer.out else None}


@case("replay, a trace with another configuration")
def replay_of_another() -> Any:
    path = Path("methods/synthetic-5d/synthetic-1k/cfo/fold-1_seed-0.jsonl")
    changed = Path("changed.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    row = json.loads(lines[3])
    row["config"]["batch_size"] = 8 if row["config"]["batch_size"] != 8 else 16
    lines[3] = json.dumps(row, separators=(",", ":")) + "\n"
    changed.write_text("".join(lines), encoding="utf-8")
    answer = cfo_bench("replay", changed, "--json")
    return {"exit_code": answer.exit_code, "lines": answer.err.count("\n")}


# --- damaged traces -------------------------------------------------------------------------------

# What the error about a trace has to name: the number of the line, keys and values. None: it is no error.
DAMAGED: dict[str, tuple[int | None, list[str]] | None] = {
    "blank-line": (3, []),
    "broken-json": (3, ["JSON"]),
    "damaged-digest": None,
    "ended-before-started": (4, ["0.0", "724.0"]),
    "gap": (3, ["5", "1"]),
    "lines-after-the-end": (5, []),
    "loss-of-a-failed-trial": (4, ["status", "failed", "loss", "0.1465"]),
    "missing-key": (3, ["ended", "missing"]),
    "missing-key-of-the-header": (1, ["metric", "missing"]),
    "negative-seconds": (4, ["started", "-1.0", "0"]),
    "no-header": (1, ["header"]),
    "no-object": (3, []),
    "other-version": (None, ["version", "99", "2"]),
    "second-header": (3, ["header"]),
    "torn-last-line": None,
    "trial-twice": (4, ["1"]),
    "unknown-kind": (3, ["kind", "note"]),
    "version-of-no-number": (1, ["schema", "1"]),
    "wrong-checksum": None,
    "wrong-count": (5, ["trials", "7", "3"]),
    "wrong-reason": (5, ["reason", "tired", "budget", "max_trials", "exhausted", "interrupted", "error"]),
    "wrong-type": (3, ["loss", "low", "number"]),
    "wrong-type-in-the-spec": (1, ["spec.budget_seconds", "an hour", "number"]),
    "wrong-type-of-config": (3, ["config", "list"]),
    "wrong-value": (3, ["status", "fine", "ok", "failed", "timeout", "memory"]),
}
REFUSED = {name: facts for name, facts in DAMAGED.items() if facts is not None}


@each("damaged", {name: (name, facts) for name, facts in REFUSED.items()})
def damaged(asked: tuple[str, tuple[int | None, list[str]]]) -> Any:
    """For each command its exit code; each has to name the file, the line, keys and values in one line."""
    name, (line, facts) = asked
    folder = f"damaged/{name}"
    [trace] = Path(folder).rglob("*.jsonl")
    commands = {
        "status": ["status", folder],
        "report": ["report", folder, "-o", "out/damaged", "--format", "csv"],
        "best": ["best", folder],
        "export": ["export", folder, "-o", "out/damaged.csv"],
        "replay": ["replay", trace],
        "merge": ["merge", folder, "-o", "out/merged-damaged"],
    }
    codes = {}
    for command, words in commands.items():
        answer = cfo_bench(*words)
        codes[command] = answer.exit_code
        told = [text for text in answer.err.splitlines() if str(trace) in text]
        assert len(told) == 1 and "Traceback" not in answer.err, answer.err
        after = told[0].partition(str(trace))[2]
        numbers = re.findall(r"^, line (\d+)\b", after)
        assert numbers == ([] if line is None else [str(line)]), told
        assert all(re.search(rf"(?<!\w){re.escape(fact)}(?!\w)", after) for fact in facts), (facts, told)
    return codes


@case("damaged, not an error", [name for name, facts in DAMAGED.items() if facts is None])
def harmless(names: list[str]) -> Any:
    """Every line of such a trace is read, and all of them are good; a torn last line does not count."""
    folders = [f"damaged/{name}" for name in names]
    finished = [folder for folder in folders if "torn" not in folder]
    answer = {folder: [status(folder), frames(folder), best(folder)] for folder in folders}
    return {**answer, **{f"report of {folder}": report([folder])["tables"] for folder in finished}}


@case("damaged, run again")
def run_damaged() -> Any:
    """A refused trace stays as it is, and --force replaces it and keeps a copy."""
    copy = copied("damaged/wrong-type", "forced").replace("\\", "/")
    from tests.golden.record import SLOW

    words = [
        *shlex.split(SLOW),
        "--method",
        "rs",
        "--budget",
        "10000",
        "--max-trials",
        "3",
        "--results",
        copy,
    ]
    before = traces(copy)
    refused = cfo_bench(*words)
    assert traces(copy) == before
    good(*words, "--force", "-q")
    files = sorted(str(path.relative_to(copy)) for path in Path(copy).rglob("*_seed-*"))
    return {"exit_code": refused.exit_code, "files": files, "frames": frames(copy)}


# --- the schema of traces -------------------------------------------------------------------------


@case("schema, lines that it refuses")
def schema() -> Any:
    """For each trace that has some the numbers of the lines that the schema refuses."""
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(json.loads(good("schema", "trace")))
    refused = {}
    for path in sorted(Path().glob("*/**/*.jsonl")):
        if path.parts[0] in (*FOLDERS, "damaged"):
            numbers = [at for at, line in enumerate(lines_of(path), 1) if not is_valid(validator, line)]
            refused |= {str(path): numbers} if numbers else {}
    return refused


def is_valid(validator: Any, line: bytes) -> bool:
    try:
        row = json.loads(line)
    except ValueError:
        return False
    return bool(validator.is_valid(row))


# --- suites ---------------------------------------------------------------------------------------

GOOD_SUITES = ("small", "variants", "patterns")
# What the error about a suite has to name: the number of the line, keys and values.
BAD_SUITES: dict[str, tuple[int | None, list[str]]] = {
    "key-twice": (4, ["methods", "2"]),
    "no-budget": (None, ["--budget", "budget:"]),
    "no-mapping": (1, ["mapping"]),
    "no-yaml": (2, ["YAML"]),
    "same-name": (3, ["cfo", "--name"]),
    "unknown-key": (3, ["budgett", "budget", "max_trials"]),
    "unknown-method": (2, ["cof", "cfo", "tpe"]),
    "unknown-option": (3, ["cfo", "delta_innit", "delta_init"]),
    "unknown-task": (1, ["irys", "iris", "wine"]),
    "wrong-folds": (4, ["folds", "0-12", "10", "9"]),
    "wrong-option": (3, ["delta_init", "cfo", "big"]),
    "wrong-type": (4, ["max_trials", "many", "1"]),
    "wrong-value": (4, ["holdout_share", "1.5", "0", "1"]),
}


@each("suite", GOOD_SUITES)
def suite(name: str) -> Any:
    """The ids of its runs, and the command of each."""
    file = f"suites/{name}.yaml"
    ids = good("run", file, "--list").splitlines()
    commands = [
        line for line in good("run", file, "--dry-run").splitlines() if line.startswith("cfo-bench run")
    ]
    assert len(ids) == len(commands) == len(set(ids))
    shard = good("run", file, "--list", "--shard", "2/3").splitlines()
    return {"ids": ids, "commands": commands, "second of three shards": shard}


# --- running again --------------------------------------------------------------------------------


# Options whose defaults have changed since 0.2.0, with the values that its runs have.
OLD_DEFAULTS = {
    "cfo": "delta_lower=with_floats",
    "cfo-0": "delta_lower=with_floats",
    "tpe": "multivariate=false",
}


def run_words(folder: str) -> list[str]:
    """The command that makes the runs of a folder, without its program name."""
    from tests.golden.record import COMMANDS, PAUSED, SLOW

    return words_of(COMMANDS[folder][-1] if folder in COMMANDS else f"{SLOW} {PAUSED}")


def words_of(command: str) -> list[str]:
    words = shlex.split(command)
    return words + [f"--option={name}.{value}" for name, value in OLD_DEFAULTS.items() if name in words]


FINISHED = (
    "recorded",
    "methods",
    "real",
    "holdout",
    "parallel",
    "grown",
    "grown-trials",
    "program",
    "failed",
)


@each("run again, finished", FINISHED)
def run_again(folder: str) -> Any:
    """The summary of a command whose runs are all finished; no trace changes."""
    copy = copied(folder, "again")
    answer = cfo_bench(*run_words(folder), "--results", copy, "--json", "-q")
    assert traces(copy) == traces(folder)
    return {"exit_code": answer.exit_code, "summary": json.loads(answer.out)}


@case("run again, the printed table")
def run_again_table() -> Any:
    return printed_table(good(*run_words("methods"), "--results", copied("methods", "table"), "-q"))


@case("run again, with a shorter budget")
def run_shorter() -> Any:
    copy = copied("grown", "shorter")
    summary = json.loads(good(*run_words("grown"), "--results", copy, "--json", "-q", "--budget", "2"))
    assert traces(copy) == traces("grown")
    return summary


def copied(folder: str, name: str) -> str:
    """A copy of a results folder, for a command that writes to it."""
    return str(shutil.copytree(folder, f"{name}-{folder}"))


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def counted(lines: Sequence[bytes]) -> list[bytes]:
    """The trials that count, as docs/trace.md defines them."""
    found: list[bytes] = []
    for line in lines:
        row = json.loads(line)
        if row["kind"] == "trial":
            found.append(line)
        elif row["kind"] == "resume" and row["superseded"]:
            del found[-row["superseded"] :]
    return found


# Which folders are resumed on the virtual clock, and with which limits.
RESUMED = {
    "killed": [],
    "stopped": [],
    "grown": ["--budget", "14"],
    "grown-trials": ["--max-trials", "9"],
    "parallel": ["--max-trials", "11"],
}


@each("resume", {name: (name, changes) for name, changes in RESUMED.items()})
def resume(asked: tuple[str, list[str]]) -> Any:
    """The trials and the end of each trace after the folder was resumed."""
    folder, changes = asked
    copy = copied(folder, "resumed")
    good(*run_words(folder), *changes, "--results", copy, "-q")
    answer = {}
    for path in sorted(Path(copy).rglob("*.jsonl")):
        lines = lines_of(path)
        rows = [json.loads(line) for line in lines]
        resumes = [
            {key: row[key] for key in ("elapsed", "trials", "superseded", "limits")}
            for row in rows
            if row["kind"] == "resume"
        ]
        end = {key: value for key, value in rows[-1].items() if key != "digest" and not key.endswith("crc32")}
        trials = [json.loads(line) for line in counted(lines)]
        answer[str(path.relative_to(copy))] = {"trials": trials, "resumes": resumes, "end": end}
    return answer


def make(name: str, folder: Path) -> Any:
    """The answer of a case, with a copy of the data below this folder."""
    with workplace(folder):
        return CASES[name]()


def expected_path(name: str) -> Path:
    return EXPECTED / (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".json")
