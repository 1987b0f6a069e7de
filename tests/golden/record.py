"""How `data/` was made: with cfo-bench 0.2.0, once. The files are fixed and are not made again.

    python -m tests.golden.record FOLDER

writes the same kinds of results folders to FOLDER, with the code that is installed; a copy of `data/plugins`
and `data/sources` has to be there. Wall-clock runs differ from time to time, and the traces in `data/old` and
`data/damaged` are made from others here, by changing some of their lines. Facts of the machine are replaced.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LEARNERS, METHODS = "plugins/learners.py", "plugins/methods.py"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

Row = dict[str, Any]

# Each results folder, and the commands that fill it one after the other.
VIRTUAL = "--learner synthetic-5d --clock virtual --memory 2GB"
RECORDED_TASKS = ("australian", "blood_transfusion", "car", "credit_g", "kc1", "phoneme")
SLOW = f"run --learner {LEARNERS}:Slow --task synthetic-1k --folds 0 --memory 2GB"
PAUSED = "--learner-option pause=0.1 --budget 10000 --max-trials 10 --method cfo"
GROWN = f"run {VIRTUAL} --task synthetic-30k --method cfo --method rs --folds 0"
COMMANDS = {
    "recorded": [
        "run --learner hpobench-mlp --method cfo --method rs --method tpe --folds 0 --memory 2GB "
        "--budget 600 --max-trials 4 " + " ".join(f"--task hpobench:{task}" for task in RECORDED_TASKS)
    ],
    "methods": [
        f"run {VIRTUAL} --task synthetic-1k --task synthetic-30k --folds 0-1 --budget 60 --max-trials 4 "
        "--method cfo --method cfo-0 --method rs --method tpe --method smac --method bohb"
    ],
    "real": [
        "run --task iris --task breast_cancer --learner xgboost --method cfo --method rs --folds 0-1 "
        "--budget 20 --max-trials 3 --memory 2GB"
    ],
    "holdout": [
        "run --task breast_cancer --learner knn --method cfo --method rs --folds 0-1 --budget 20 "
        "--max-trials 4 --memory 2GB --validation holdout"
    ],
    "parallel": [
        f"run {VIRTUAL} --task synthetic-1k --method cfo --method rs --folds 0 --budget 60 "
        "--max-trials 8 --parallel 2"
    ],
    "grown": [
        f"{GROWN} --budget 4 --max-trials 40",
        f"{GROWN} --budget 9 --max-trials 40",
    ],
    "grown-trials": [
        f"run {VIRTUAL} --task synthetic-1k --method cfo --method tpe --folds 0 --budget 60 --max-trials {n}"
        for n in (4, 7)
    ],
    "program": [
        f"run {VIRTUAL} --task synthetic-1k --method 'exec:python3 plugins/hill_climb.py' --method rs "
        "--folds 0 --budget 60 --max-trials 5"
    ],
    "failed": [
        f"run --learner {LEARNERS}:Faulty --task synthetic-1k --method rs --method {METHODS}:GivesUp "
        "--folds 0 --budget 20 --max-trials 7 --trial-timeout 0.5 --memory 2GB"
    ],
    "imported": [
        "import sources/trials.csv --learner xgboost --task iris --metric log_loss --method grid "
        "--column seconds=time",
        "import sources/study.log --learner xgboost --task iris --metric log_loss",
    ],
}


def cfo_bench(folder: Path, command: str, results: str) -> subprocess.Popen[bytes]:
    words = [*shlex.split(command), "--results", results]
    return subprocess.Popen(
        [sys.executable, "-m", "cfo_bench", *words], cwd=folder, env=ENVIRONMENT, start_new_session=True
    )


def stop_after(folder: Path, command: str, results: str, trials: int, how: int) -> None:
    """Send a signal to the command and all its processes when the trace has this number of trials."""
    process = cfo_bench(folder, command, results)
    while sum(path.read_bytes().count(b'"trial"') for path in (folder / results).rglob("*.jsonl")) < trials:
        time.sleep(0.02)
    if how == signal.SIGKILL:
        os.killpg(process.pid, how)
    else:
        process.send_signal(how)
    process.wait()


def without_machine(folder: Path) -> None:
    """Replace what only describes the machine; the checksums in a trace don't cover these lines."""
    for path in folder.rglob("*.jsonl"):
        rows = rows_of(path)
        machine = {"cpu": "a processor", "os": "Linux", "node": "machine-a", "load": 0.5, "load_5min": 0.5}
        if "machine" in rows[0]:
            rows[0]["machine"].update(machine)
            rows[0]["cfo_bench"]["commit"] = "0" * 40
        for row in rows:
            if row["kind"] == "resume":
                row["node"] = "machine-a"
        write(path, rows)
    for path in [*folder.rglob("*.live"), *folder.rglob("*_seed-*.log")]:
        path.unlink()


def rows_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def dumps(row: Row) -> bytes:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode()


def write(path: Path, rows: list[Row | bytes]) -> None:
    """Lines as they are, and rows as JSON; trial lines keep their bytes, since a checksum covers them."""
    old = path.read_bytes().splitlines() if path.exists() else []
    lines = []
    for at, row in enumerate(rows):
        if isinstance(row, bytes):
            lines.append(row)
        elif at < len(old) and json.loads(old[at]) == row:
            lines.append(old[at])
        else:
            lines.append(dumps(row))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(lines) + b"\n")


# --- traces of older versions ---------------------------------------------------------------------


def older(rows: list[Row]) -> None:
    """A header of an older version: `workers` in place of `parallel`, and without later keys."""
    spec = rows[0]["spec"]
    spec["workers"] = spec.pop("parallel")
    spec["options"] = {"workers" if key == "parallel" else key: one for key, one in spec["options"].items()}
    for key in ("variant", "charge_method"):
        del spec[key]
    for key in ("changed_options", "knows_budget"):
        del rows[0][key]
    for key in ("target", "problem", "dropped_columns", "dropped_rows"):
        del rows[0]["data"][key]


def without_digest(rows: list[Row]) -> None:
    for key in ("digest", "digest_crc32"):
        del rows[-1][key]


def without_checksum(rows: list[Row]) -> None:
    without_digest(rows)
    for key in ("trials_crc32", "load", "steal_percent", "pauses"):
        del rows[-1][key]


OLD: dict[str, tuple[Callable[[list[Row]], None], ...]] = {
    "cfo": (older, without_checksum),
    "rs": (without_digest,),
    "tpe": (without_checksum,),
}


# --- damaged traces -------------------------------------------------------------------------------


def wrong(line: int, *path: str, value: Any) -> Callable[[list[Any]], None]:
    """Another value at a key of a line, counted from 1."""

    def change(rows: list[Any]) -> None:
        holder = rows[line - 1]
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = value

    return change


def missing(line: int, key: str) -> Callable[[list[Any]], None]:
    return lambda rows: rows[line - 1].pop(key)


def put(line: int, text: bytes) -> Callable[[list[Any]], None]:
    return lambda rows: rows.__setitem__(line - 1, text)


def second_header(rows: list[Any]) -> None:
    rows.insert(2, rows[0])


def after_the_end(rows: list[Any]) -> None:
    rows.append({**rows[3], "number": 3})


def twice(rows: list[Any]) -> None:
    rows.insert(3, rows[2])


def another_loss(rows: list[Any]) -> None:
    rows[4]["digest"]["steps"]["losses"][-1] /= 2


# Line 1 is the header, lines 2 to 4 are trials, line 5 is the end.
DAMAGED: dict[str, Callable[[list[Any]], Any]] = {
    "broken-json": put(3, b'{"kind":"trial","number":1,"config":{"x":4,'),
    "no-object": put(3, b"[1,2,3]"),
    "blank-line": put(3, b""),
    "wrong-type": wrong(3, "loss", value="low"),
    "wrong-type-of-config": wrong(3, "config", value=[1, 2]),
    "wrong-value": wrong(3, "status", value="fine"),
    "wrong-count": wrong(5, "trials", value=7),
    "wrong-reason": wrong(5, "reason", value="tired"),
    "negative-seconds": wrong(4, "started", value=-1.0),
    "ended-before-started": wrong(4, "ended", value=0.0),
    "loss-of-a-failed-trial": wrong(4, "status", value="failed"),
    "missing-key": missing(3, "ended"),
    "missing-key-of-the-header": missing(1, "metric"),
    "wrong-type-in-the-spec": wrong(1, "spec", "budget_seconds", value="an hour"),
    "no-header": put(1, b'{"kind":"trial","number":0}'),
    "second-header": second_header,
    "trial-twice": twice,
    "gap": wrong(3, "number", value=5),
    "unknown-kind": wrong(3, "kind", value="note"),
    "other-version": wrong(1, "schema", value=99),
    "version-of-no-number": wrong(1, "schema", value="1"),
    "lines-after-the-end": after_the_end,
    # These two are no errors: every line is checked, and all of them are good.
    "wrong-checksum": wrong(5, "trials_crc32", value=1),
    "damaged-digest": another_loss,
}


def damage(folder: Path) -> None:
    """Traces with one defect each, and one whose last line is torn."""
    base = next((folder / "base").rglob("*.jsonl"))
    inner = base.relative_to(folder / "base")
    for name, change in DAMAGED.items():
        path = folder / "damaged" / name / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base.read_bytes())
        rows: list[Any] = rows_of(base)
        change(rows)
        write(path, rows)
    torn = folder / "damaged" / "torn-last-line" / inner
    torn.parent.mkdir(parents=True, exist_ok=True)
    torn.write_bytes(base.read_bytes()[:-700])
    shutil.rmtree(folder / "base")


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    for results, commands in COMMANDS.items():
        for command in commands:
            cfo_bench(folder, command, results).wait()
    stop_after(folder, f"{SLOW} {PAUSED} --method rs", "killed", 4, signal.SIGKILL)
    stop_after(folder, f"{SLOW} {PAUSED} --method rs", "stopped", 4, signal.SIGINT)
    cfo_bench(folder, f"{SLOW} --method rs --budget 10000 --max-trials 3", "base").wait()
    without_machine(folder)
    for method, changes in OLD.items():
        source = folder / "methods" / "synthetic-5d" / "synthetic-1k" / method / "fold-0_seed-0.jsonl"
        rows = rows_of(source)
        path = folder / "old" / source.relative_to(folder / "methods")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
        for change in changes:
            change(rows)
        write(path, rows)
    damage(folder)


if __name__ == "__main__":
    main()
