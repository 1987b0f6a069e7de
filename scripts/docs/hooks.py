"""The hooks of mkdocs: they write the pages of suite keys, trace keys, methods and learners from the code.

The pages are written at each build, so that they can't be out of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.docs import registries, suite_keys, trace_keys  # noqa: E402

GENERATED: dict[str, Callable[[], str]] = {
    "reference/suite-keys.md": suite_keys.page,
    "reference/trace-keys.md": trace_keys.page,
    "reference/methods.md": registries.methods_page,
    "reference/learners.md": registries.learners_page,
}
# Files beside docs/ that are pages of the site too.
OF_THE_PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
# Files that pages link to, and that are shown as they are.
SHOWN = ("examples/hill_climb.py", "LICENSE")


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
