"""What mkdocs calls while it builds the site.

The reference is written from the code at each build, so that it can't be out of date. The menu in mkdocs.yml
may name pages that don't exist yet: they are left out. Pages that it does not name come last, under "More".
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.docs import command_line, python_api, registries, suite_keys, trace_keys  # noqa: E402

# The pages that are made here, and what makes each.
GENERATED: dict[str, Callable[[], str]] = {
    "reference/command-line.md": command_line.page,
    "reference/suite-keys.md": suite_keys.page,
    "reference/trace-keys.md": trace_keys.page,
    "reference/methods.md": registries.methods_page,
    "reference/learners.md": registries.learners_page,
    "reference/python-api.md": python_api.page,
}
# Files beside docs/ that are pages of the site too.
OF_THE_PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
# Files that pages link to, and that are shown as they are.
SHOWN = ("examples/hill_climb.py", "LICENSE")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = menu(config.nav or [], {path.name for path in (ROOT / "docs").glob("*.md")})
    return config


def menu(entries: list[Any], pages: Set[str]) -> list[Any]:
    """The menu of the pages that there are."""
    kept = _existing(entries, pages | GENERATED.keys() | set(OF_THE_PROJECT))
    more = sorted(pages - set(_listed(kept)))
    return [*kept, {"More": more}] if more else kept


def _existing(entries: list[Any], pages: Set[str]) -> list[Any]:
    """The entries whose page exists; a heading without entries goes too."""
    kept: list[Any] = []
    for entry in entries:
        ((title, what),) = entry.items()
        if isinstance(what, list):
            if below := _existing(what, pages):
                kept.append({title: below})
        elif what in pages:
            kept.append(entry)
    return kept


def _listed(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        ((_, what),) = entry.items()
        yield from _listed(what) if isinstance(what, list) else [what]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, make in GENERATED.items():
        files.append(File.generated(config, name, content=make()))
    for name in OF_THE_PROJECT:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text.replace("](docs/", "](")))
    for name in SHOWN:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """In the repository, a page of docs/ links to ../SECURITY.md; on the site these files are beside it."""
    names = "|".join(map(re.escape, (*OF_THE_PROJECT, *SHOWN)))
    return re.sub(rf"\]\(\.\./({names})", r"](\1", markdown)
