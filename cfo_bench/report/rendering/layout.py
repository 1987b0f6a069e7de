"""The names of the files in a report's folder, links to them, and text for the page."""

from __future__ import annotations

import re
import zlib
from html import escape
from pathlib import PurePosixPath
from urllib.parse import quote

from cfo_bench.report.rendering import assets

INDEX = PurePosixPath("index.html")
CACHE = PurePosixPath(".cache")

# The suffixes of the formats.
SUFFIX = {"csv": ".csv", "markdown": ".md", "latex": ".tex", "png": ".png", "pdf": ".pdf"}
TABLE_FORMATS = ("csv", "markdown", "latex")
FIGURE_FORMATS = ("png", "pdf")
# File systems accept names of 255 bytes, including the suffix.
_LONGEST = 200
FORMATS = ("html", *FIGURE_FORMATS, *TABLE_FORMATS)
# PDF files are for papers, and drawing them takes long.
DEFAULT_FORMATS = tuple(name for name in FORMATS if name != "pdf")


def table_file(learner: str, name: str, kind: str) -> PurePosixPath:
    return PurePosixPath(_safe(learner), "tables", _safe(name) + SUFFIX[kind])


def figure_file(learner: str, name: str, kind: str) -> PurePosixPath:
    return PurePosixPath(_safe(learner), "figures", _safe(name) + SUFFIX[kind])


def curves_file(learner: str, index: int) -> PurePosixPath:
    """The script with the curves of a task, by its index in the list of tasks."""
    return PurePosixPath(_safe(learner), "curves", f"{index:03d}.js")


def trials_file(learner: str, index: int) -> PurePosixPath:
    """The script with the trials of a task, by its index in the section of trials."""
    return PurePosixPath(_safe(learner), "trials", f"{index:03d}.js")


def asset_file(name: str) -> PurePosixPath:
    return PurePosixPath("assets", name)


def is_of_report(name: str) -> bool:
    """Whether a report may have made a file with this name."""
    return name == str(INDEX) or name in _ASSETS or _MADE.fullmatch(name) is not None


def href(file: PurePosixPath) -> str:
    """A link from the page to a file."""
    return quote(str(file))


def _safe(name: str) -> str:
    """A name as part of a path: special characters are percent-encoded, and a long name is cut off."""
    safe = quote(name, safe=" @+,=~")
    if len(safe) > _LONGEST:
        safe = f"{safe[:_LONGEST]}~{zlib.crc32(name.encode()):08x}"  # different long names stay different
    return safe if safe.strip(".") else safe.replace(".", "%2E")


_ASSETS = {str(asset_file(name)) for name in assets.SHIPPED}
# A name that `_safe` returns: without slashes, and not only dots.
_NAME = r"(?!\.+/)[\w.~ @+,=%-]+"
_MADE = re.compile(
    rf"{_NAME}/(tables/{_NAME}\.(csv|md|tex)|figures/{_NAME}\.(png|pdf)|(curves|trials)/\d+\.js)", re.ASCII
)


def prose(text: str) -> str:
    """Text as HTML, with words between backticks as code, and no line break within a number and its unit."""
    whole = re.sub(r"(?<=\d) (?=(%|s|MB)(?!\w))", "\u00a0", escape(text))
    whole = re.sub(r"\bp (=|&lt;|≤|≥) (?=\d)", "p\u00a0\\1\u00a0", whole)
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", whole)
