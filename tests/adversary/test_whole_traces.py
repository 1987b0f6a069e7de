"""`status`, `report`, `merge` and `run` agree on what a whole trace is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.commands import Commands, no_stack_trace, virtual

Lines = list[bytes]

DAMAGE: dict[str, Callable[[Lines], Lines]] = {
    "a trial twice": lambda lines: [*lines[:3], *lines[2:]],
    "a trial missing": lambda lines: [*lines[:2], *lines[3:]],
    "trials in another order": lambda lines: [lines[0], lines[3], lines[2], lines[1], *lines[4:]],
    "a second header": lambda lines: [*lines[:3], lines[0], *lines[3:]],
    "an unknown kind": lambda lines: [*lines[:3], b'{"kind":"prophecy"}', *lines[3:]],
    "a blank line": lambda lines: [*lines[:3], b"", *lines[3:]],
    "a blank line at the end": lambda lines: [*lines, b""],
    "two ends": lambda lines: [*lines, lines[-1]],
    "a trial after the end": lambda lines: [*lines, lines[1]],
    "fewer trials than the end says": lambda lines: [*lines[:1], lines[-1]],
    "no number": lambda lines: [*lines[:3], lines[3].replace(b'"number":2,', b""), *lines[4:]],
    "a number that is text": lambda lines: [
        *lines[:3],
        lines[3].replace(b'"loss":', b'"loss":"x","l":'),
        *lines[4:],
    ],
}


@pytest.fixture
def damaged(commands: Commands) -> Path:
    """One trace to be damaged, beside whole ones of another task."""
    assert commands(*virtual(), "--task", "synthetic-30k").returncode == 0
    [path] = commands.results.rglob("synthetic-1k/**/*.jsonl")
    return path


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_trace_is_refused_by_every_command(commands: Commands, damaged: Path, damage: str):
    lines = damaged.read_bytes().splitlines()
    damaged.write_bytes(b"\n".join(DAMAGE[damage](lines)) + b"\n")
    content = damaged.read_bytes()
    answers = {
        "status": commands("status", "results"),
        "report": commands("report", "results", "--format", "csv"),
        "merge": commands("merge", "results", "-o", "merged"),
        "run": commands(*virtual()),
    }
    name = str(damaged.relative_to(commands.folder))
    taken = [command for command, answer in answers.items() if name not in answer.stderr]
    assert taken == [], f"not refused by {taken}"
    for answer in answers.values():
        no_stack_trace(answer, 0, 1, 2)
    assert answers["merge"].returncode == 1 and answers["run"].returncode == 2
    assert damaged.read_bytes() == content
