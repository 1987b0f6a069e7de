"""`cfo-bench status`: by task and method, with the reasons of failures, once or again and again."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

from cfo_bench.records import EndReason, RunSpec
from cfo_bench.results import status
from cfo_bench.results.schema import EndRecord, encode
from cfo_bench.results.trace import path_of
from tests.helpers.traces import header_of

ROOT = Path(__file__).resolve().parents[2]
METHODS = ("bohb", "cfo", "cfo-0", "gpei", "gpeips", "rs", "smac")
VIRTUAL = "run --task synthetic-1k --learner synthetic --clock virtual --max-trials 5 --budget 9 -q"


def write(results: Path, spec: RunSpec, error: str | None = None) -> None:
    """A trace of a run that is over, well or with an error."""
    end = EndRecord(
        reason=EndReason.ERROR if error else EndReason.BUDGET,
        elapsed=spec.budget_seconds,
        trials=0,
        best_loss=None,
        best_score=None,
        best_number=None,
        error=error,
    )
    path = path_of(results, spec)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(header_of(spec)) + encode(end))


def a_suite(results: Path, tasks: int, folds: int) -> list[RunSpec]:
    specs = [
        RunSpec("xgboost", f"a-task-with-a-name-{task:02d}", method, fold)
        for task in range(tasks)
        for method in METHODS
        for fold in range(folds)
    ]
    status.record_plan(results, specs)
    return specs


def test_the_paper_s_suite_fits_on_a_terminal(program: Any, tmp_path: Path) -> None:
    specs = a_suite(tmp_path / "results", tasks=45, folds=2)
    for spec in specs[: len(specs) // 2]:
        write(tmp_path / "results", spec)

    answer = program("status results")

    assert answer.returncode == 0
    lines = answer.stdout.splitlines()
    assert max(len(line) for line in lines if "/2" in line) <= 80
    rows = [line.split() for line in lines]
    assert ["a-task-with-a-name-00", *["2/2"] * 7] in rows
    assert ["a-task-with-a-name-44", *["0/2"] * 7] in rows
    assert ["all", "315", "315"] in rows
    assert "nothing is running: 315 h 00 min of budget left" in answer.stdout
    # Neither the 315 that wait nor those that are done are listed one by one.
    assert len(lines) < 70


def test_a_reason_is_told_once_with_the_runs_that_have_it(program: Any, tmp_path: Path) -> None:
    specs = a_suite(tmp_path / "results", tasks=3, folds=2)
    for spec in specs:
        error = None if spec.method != "smac" else "smac gave up"
        write(tmp_path / "results", spec, "out of luck" if spec == specs[0] else error)

    answer = program("status results")

    failed = answer.stdout.partition("failed:")[2].splitlines()[1:]
    assert failed[:5] == [
        "  6 runs: smac gave up",
        *(f"    xgboost a-task-with-a-name-{task:02d} smac fold 0, 1" for task in range(3)),
        "  1 run: out of luck",
    ]
    assert "nothing left to do, 7 failed" in answer.stdout
    assert ["a-task-with-a-name-00", "!1", "1/2", "2/2"] in [
        line.split()[:4] for line in answer.stdout.splitlines()
    ]


def test_a_run_that_failed_before_its_first_line_has_its_reason_there(program: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "class Broken:\n"
        "    def __init__(self, space, start, seed):\n"
        "        if seed:  # not when it is built once to see whether it can be\n"
        "            raise RuntimeError('not today')\n"
        "    def ask(self): ...\n"
        "    def tell(self, trial, result): ...\n"
    )
    ran = program(f"{VIRTUAL} --method rs --method broken.py:Broken --folds 0-1 --results results")

    answer = program("status results")

    assert ran.returncode == 1
    rows = [line.split() for line in answer.stdout.splitlines()]
    assert ["synthetic", "Broken", "2"] in rows and ["synthetic", "rs", "2"] in rows
    # One reason, though each run has a log of its own.
    assert "  2 runs: unexpected RuntimeError: not today" in answer.stdout
    assert "synthetic synthetic-1k Broken fold 0, 1" in answer.stdout


def test_without_a_terminal_there_is_a_line_for_each_change(
    program: Any, tmp_path: Path, environment: dict[str, str]
) -> None:
    specs = [RunSpec("synthetic", "synthetic-1k", "rs", fold, budget_seconds=9.0) for fold in range(2)]
    status.record_plan(tmp_path / "results", specs)
    watching = subprocess.Popen(
        [sys.executable, "-m", "cfo_bench", "status", "results", "--watch", "--every", "0.2"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    first = watching.stdout.readline()

    program(f"{VIRTUAL} --method rs --folds 0-1 --results results")

    rest, _ = watching.communicate(timeout=60)
    assert first.startswith("2 runs: 2 waiting; nothing is running: 18 s of budget left")
    assert rest.splitlines()[-1] == "2 runs: 2 done; all done"
    assert watching.returncode == 0


def test_on_a_terminal_the_view_is_redrawn_until_ctrl_c(tmp_path: Path, environment: dict[str, str]) -> None:
    specs = a_suite(tmp_path / "results", tasks=45, folds=1)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    watching = subprocess.Popen(
        [sys.executable, "-m", "cfo_bench", "status", "results", "--watch", "--every", "0.1"],
        cwd=tmp_path,
        env={**environment, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = _until(ours, b"315")
    write(tmp_path / "results", specs[0])
    shown = _until(ours, b"314")
    watching.send_signal(signal.SIGINT)
    last = b""
    while part := _read(ours):
        last += part
    os.close(ours)
    watching.wait(timeout=60)

    assert watching.returncode == 0
    assert b"a-task-with-a-name-00" in shown and b"a-task-with-a-name-44" not in shown  # as much as fits
    assert b"a-task-with-a-name-44" in last and b"Traceback" not in last


def _until(terminal: int, text: bytes) -> bytes:
    """What the terminal shows until there is this text, and a whole view after it."""
    shown, give_up_at = b"", time.monotonic() + 60
    while text not in shown or "…".encode() not in shown.rpartition(text)[2]:
        assert time.monotonic() < give_up_at, shown
        shown += _read(terminal)
    return shown


def _read(terminal: int) -> bytes:
    """The next bytes; none when nobody is at the other end any more."""
    assert select.select([terminal], [], [], 60)[0]
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def test_json_and_watching_exclude_each_other(program: Any, tmp_path: Path) -> None:
    a_suite(tmp_path / "results", tasks=1, folds=1)

    answer = program("status results --watch --json")

    assert answer.returncode == 2 and "leave out --watch" in answer.stderr


def test_missing_runs_are_never_said_to_be_all_done(program: Any, tmp_path: Path) -> None:
    program(f"{VIRTUAL} --method rs --folds 0-1 --results results")
    after = program(f"{VIRTUAL} --method cfo --folds 0 --results results")

    said = program("status results").stdout
    assert "nothing left to do, 1 missing" in said
    assert "all done" not in said
    # The summary of the second command has what the first one found on the same fold.
    rows = [line.split()[1] for line in after.stdout.splitlines()[2:]]
    assert rows == ["cfo", "rs"]
