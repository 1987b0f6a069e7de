"""Tables and headings in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)


def cell(text: str) -> str:
    """Text that stays inside its cell: inside of code, a `|` does not end it."""
    line = re.sub(r"\s+", " ", text).strip()
    return "".join(
        part if at % 2 else part.replace("|", "\\|") for at, part in enumerate(re.split("(`[^`]*`)", line))
    )


def linked(text: str) -> str:
    """Text in which the pages of docs/ are links, for a page of the reference."""
    return re.sub(r"docs/([\w-]+\.md)", r"[\1](../\1)", text)


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
