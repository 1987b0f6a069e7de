"""What mkdocs calls while it builds the site.

The reference is written from the code at each build, so that it can't be out of date. The list of pages in
mkdocs.yml may name files that don't exist yet: such entries are left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
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
    config.nav = _existing(config.nav or [])
    return config


def _existing(entries: list[Any]) -> list[Any]:
    """The entries whose file exists or is made here; a heading without entries goes too."""
    kept = []
    for entry in entries:
        ((title, what),) = entry.items()
        if isinstance(what, list):
            what = _existing(what)
            if what:
                kept.append({title: what})
        elif (ROOT / "docs" / what).is_file() or what in GENERATED or what in OF_THE_PROJECT:
            kept.append(entry)
    return kept


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
