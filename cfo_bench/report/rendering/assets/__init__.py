"""The templates, styles and scripts of the page."""

from __future__ import annotations

from importlib import resources
from string import Template

# The files that are copied into a report's folder.
SHIPPED = ("report.css", "theme.js", "chart.js", "trials.js", "report.js")
# Files that only the page of `cfo-bench watch` needs.
WATCHED = ("watch.css", "watch.js")


def text(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def template(name: str) -> Template:
    return Template(text(name))
