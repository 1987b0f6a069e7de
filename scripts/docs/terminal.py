"""Draws docs/images/terminal.svg: the output of commands on a terminal.

    python -m scripts.docs.terminal

The commands run on recorded results and the virtual clock, so that the picture is the same on every machine.
The font is the reader's own: the picture loads none.
"""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "images" / "terminal.svg"
WIDTH = 112  # columns
COMMANDS = (
    "cfo-bench run --learner hpobench-mlp --task 'hpobench:*' --method cfo --method rs --budget 1h -q",
    "cfo-bench report results",
)
SIZE, LINE = 14, 20  # of the letters, and from one line to the next, in pixels
COLUMN = SIZE * 0.602  # the width of a letter in every common monospaced font
COLOURS = {"background": "#1e2230", "text": "#d7dae0", "prompt": "#98c379", "bar": "#2a2f40"}


def printed(command: str, folder: Path) -> str:
    """The command with a prompt, and its answer."""
    answer = subprocess.run(
        [sys.executable, "-m", "cfo_bench", *shlex.split(command)[1:]],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # progress
        text=True,
        check=True,
    )
    return f"$ {command}\n{answer.stdout.strip()}\n"


def lines_of(text: str) -> list[str]:
    """Lines of at most WIDTH columns, broken between words."""
    console = Console(width=WIDTH, file=io.StringIO())
    return [line.plain for line in Text(text).wrap(console, WIDTH)]


def draw(text: str) -> str:
    lines = lines_of(text)
    width, height = round(WIDTH * COLUMN) + 40, len(lines) * LINE + 68
    shown = []
    for number, line in enumerate(lines):
        colour = COLOURS["prompt"] if line.startswith("$ ") else COLOURS["text"]
        length = f'textLength="{len(line) * COLUMN:.1f}"' if line.strip() else ""
        place = f'x="20" y="{number * LINE + 62}" fill="{colour}" {length}'
        shown.append(f"<text {place}>{escape(line)}</text>")
    dots = [f'<circle cx="{22 + 20 * i}" cy="18" r="6" fill="{fill}"/>' for i, fill in
            enumerate(("#e06c75", "#e5c07b", "#98c379"))]  # fmt: skip
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>A comparison and its report on a terminal</title>",
            f"<style>text{{font:{SIZE}px Menlo,Consolas,DejaVu Sans Mono,monospace;white-space:pre}}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="{COLOURS["background"]}"/>',
            f'<path d="M0 36V8a8 8 0 0 1 8-8H{width - 8}a8 8 0 0 1 8 8V36Z" fill="{COLOURS["bar"]}"/>',
            *dots,
            *shown,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FILE.write_text(
            draw("\n".join(printed(command, Path(folder)) for command in COMMANDS)), encoding="utf-8"
        )
    print(FILE)
