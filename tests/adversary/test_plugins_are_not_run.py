"""Looking at a suite runs no code of it; what a file says is no command to a terminal or spreadsheet."""

from __future__ import annotations

import csv
import os
import pty
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.helpers.commands import ROOT, Commands, no_stack_trace, virtual

EVIL = """
from pathlib import Path
Path("executed").write_text("")
from cfo_bench.optimizers.baselines import RandomSearch as Evil
"""

SUITE = """
learners: synthetic
tasks: [iris]
methods: [rs, evil.py:Evil]
folds: 0
budget: 1m
max_trials: 2
clock: virtual
"""


@pytest.mark.parametrize(
    "words", [["run", "s.yaml", "--dry-run"], ["run", "s.yaml", "--list"], ["prepare", "s.yaml"]]
)
def test_looking_at_a_suite_executes_no_file_of_it(commands: Commands, words: list[str]):
    (commands.folder / "evil.py").write_text(EVIL)
    (commands.folder / "s.yaml").write_text(SUITE)
    result = commands(*words, CFO_BENCH_OFFLINE="1")
    no_stack_trace(result, 0)
    assert not (commands.folder / "executed").exists()


def test_the_docs_say_when_a_suites_file_is_imported():
    text = (ROOT / "docs" / "suites.md").read_text()
    assert ".py" in text and "imported" in text


def with_names(commands: Commands, **changes: str) -> None:
    """A results folder of somebody else's, in which names are what they like."""
    for path in commands.results.rglob("*.jsonl"):
        header, *rest = path.read_bytes().splitlines(keepends=True)
        row = orjson.loads(header)
        row["spec"] |= changes
        path.write_bytes(orjson.dumps(row) + b"\n" + b"".join(rest))


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t=", "\r="])
def test_no_cell_of_a_csv_is_a_formula(commands: Commands, begin: str):
    assert commands(*virtual(folds="0-1")).returncode == 0
    with_names(commands, task=f"{begin}cmd|' /C calc'!A0", method=f"{begin}HYPERLINK(1)")
    no_stack_trace(commands("report", "results", "-o", "report", "--format", "csv"), 0)
    cells = []
    for path in (commands.folder / "report").rglob("*.csv"):
        with path.open(newline="") as file:
            cells += [cell for row in csv.reader(file) for cell in row]
    assert any("calc" in cell for cell in cells)
    formulas = [
        cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not is_number(cell)
    ]
    assert formulas == []


def is_number(cell: str) -> bool:
    try:
        float(cell.rstrip("%"))
    except ValueError:
        return False
    return True


def on_a_terminal(folder: Path, *words: str) -> bytes:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cfo_bench", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        said += piece
    process.wait()
    os.close(ours)
    return said


@pytest.mark.parametrize("command", ["status", "report", "merge", "best"])
def test_control_characters_never_reach_a_terminal(commands: Commands, command: str):
    assert commands(*virtual(folds="0-1")).returncode == 0
    bad = "x\x1b]0;pwned\x07\x9b31m\x1b[2J\nforged\u2028forged"
    with_names(commands, task=bad, method=bad)
    for path in commands.results.rglob("*.jsonl"):
        *lines, last = path.read_bytes().splitlines()
        end = (
            {**orjson.loads(last), "reason": "error", "error": bad}
            if "fold-0" in path.name
            else orjson.loads(last)
        )
        path.write_bytes(b"\n".join([*lines, orjson.dumps(end)]) + b"\n")
    (commands.results / "a\x1b[2Jb.jsonl").write_text("no trace")
    words = {
        "status": ["status", "results"],
        "report": ["report", "results", "--format", "csv"],
        "merge": ["merge", "results", "-o", "merged"],
        "best": ["best", "results"],
    }
    said = on_a_terminal(commands.folder, *words[command])
    assert said
    for harmful in (b"\x1b]0;", b"\x07", b"\x1b[2J", "\x9b".encode()):
        assert harmful not in said
    assert not any(line.startswith("forged") for line in said.decode().splitlines())
