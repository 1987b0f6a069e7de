"""What Python programs show on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.helpers.program import clean_environment


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Our side of a new terminal, and that of the program, which `shown` closes."""
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def shown(ours: int, theirs: int) -> str:
    """All that the program writes until it ends."""
    os.close(theirs)
    drawn = b""
    while True:
        try:
            drawn += os.read(ours, 65536)
        except OSError:  # the other side is closed
            return drawn.decode()


def on_a_terminal(columns: int, *arguments: object) -> list[str]:
    """The lines that `python …` shows on a terminal of so many columns; it has to end well."""
    environment = clean_environment(COLUMNS=str(columns), PYTHONIOENCODING="utf-8")
    command = [sys.executable, *map(str, arguments)]
    with (
        terminal() as (ours, theirs),
        subprocess.Popen(command, env=environment, stdout=theirs, stderr=theirs) as process,
    ):
        drawn = shown(ours, theirs)
    assert process.returncode == 0, drawn
    return drawn.splitlines()
