"""What the page is made of besides its numbers: templates, styles and scripts, all our own."""

from __future__ import annotations

from importlib import resources
from string import Template

# What a report's folder gets a copy of.
SHIPPED = ("report.css", "theme.js", "chart.js", "report.js")


def text(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def template(name: str) -> Template:
    return Template(text(name))
