"""Where each file of a report lies in its folder, and how the page links to it."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import quote

INDEX = PurePosixPath("index.html")
CACHE = PurePosixPath(".cache")

# Formats that can be asked for, and how their files end.
SUFFIX = {"csv": ".csv", "markdown": ".md", "latex": ".tex", "png": ".png", "pdf": ".pdf"}
TABLE_FORMATS = ("csv", "markdown", "latex")
FIGURE_FORMATS = ("png", "pdf")
FORMATS = ("html", *FIGURE_FORMATS, *TABLE_FORMATS)


def table_file(learner: str, name: str, kind: str) -> PurePosixPath:
    return PurePosixPath(_safe(learner), "tables", _safe(name) + SUFFIX[kind])


def figure_file(learner: str, name: str, kind: str) -> PurePosixPath:
    return PurePosixPath(_safe(learner), "figures", _safe(name) + SUFFIX[kind])


def curves_file(learner: str, index: int) -> PurePosixPath:
    """What the page draws of one task, by its place in the list of tasks."""
    return PurePosixPath(_safe(learner), "curves", f"{index:03d}.js")


def asset_file(name: str) -> PurePosixPath:
    return PurePosixPath("assets", name)


def href(file: PurePosixPath) -> str:
    """A link to a file from the page, whatever is in its name."""
    return quote(str(file))


def _safe(name: str) -> str:
    """A name as a file's: what a file system or a shell may stumble over is percent-encoded."""
    safe = quote(name, safe=" @+,=~")
    return safe if safe.strip(".") else safe.replace(".", "%2E")
