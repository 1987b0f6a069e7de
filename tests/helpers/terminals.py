"""What Python programs show on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from tests.helpers.program import clean_environment


def on_a_terminal(columns: int, *arguments: object) -> list[str]:
    """The lines that `python …` shows on a terminal of so many columns; it has to end well."""
    ours, theirs = pty.openpty()
    environment = clean_environment(COLUMNS=str(columns), PYTHONIOENCODING="utf-8")
    with subprocess.Popen(
        [sys.executable, *map(str, arguments)], env=environment, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        drawn = b""
        while True:
            try:
                drawn += os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
    os.close(ours)
    assert process.returncode == 0, drawn.decode()
    return drawn.decode().splitlines()
