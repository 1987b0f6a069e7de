"""Tables and headings in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)


def cell(text: str) -> str:
    """Text that stays inside its cell."""
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|")


def code(text: str) -> str:
    """Text as code. Backquotes inside it get longer ones outside."""
    if not text:
        return ""
    quote = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    padding = " " if "`" in text else ""
    return f"{quote}{padding}{text}{padding}{quote}"


def page(title: str, intro: str, sections: Iterable[str]) -> str:
    """A page that says that it is generated."""
    return "\n\n".join([f"# {title}", intro, *(section.strip() for section in sections)]) + "\n"
