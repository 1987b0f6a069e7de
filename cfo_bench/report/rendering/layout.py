"""The names of the files in a report's folder, and how the page links to them."""

from __future__ import annotations

import zlib
from pathlib import PurePosixPath
from urllib.parse import quote

INDEX = PurePosixPath("index.html")
CACHE = PurePosixPath(".cache")

# Formats that can be asked for, and how their files end.
SUFFIX = {"csv": ".csv", "markdown": ".md", "latex": ".tex", "png": ".png", "pdf": ".pdf"}
TABLE_FORMATS = ("csv", "markdown", "latex")
FIGURE_FORMATS = ("png", "pdf")
# A file system takes names of 255 bytes, suffix included.
_LONGEST = 200
FORMATS = ("html", *FIGURE_FORMATS, *TABLE_FORMATS)


def table_file(learner: str, name: str, kind: str) -> PurePosixPath:
    return PurePosixPath(_safe(learner), "tables", _safe(name) + SUFFIX[kind])


def figure_file(learner: str, name: str, kind: str) -> PurePosixPath:
    return PurePosixPath(_safe(learner), "figures", _safe(name) + SUFFIX[kind])


def curves_file(learner: str, index: int) -> PurePosixPath:
    """The script with the curves of a task, by its number in the list of tasks."""
    return PurePosixPath(_safe(learner), "curves", f"{index:03d}.js")


def asset_file(name: str) -> PurePosixPath:
    return PurePosixPath("assets", name)


def href(file: PurePosixPath) -> str:
    """A link from the page to a file."""
    return quote(str(file))


def _safe(name: str) -> str:
    """A name that is safe for a file: special characters are percent-encoded, and a long name is cut."""
    safe = quote(name, safe=" @+,=~")
    if len(safe) > _LONGEST:
        safe = f"{safe[:_LONGEST]}~{zlib.crc32(name.encode()):08x}"  # two long names stay two
    return safe if safe.strip(".") else safe.replace(".", "%2E")
