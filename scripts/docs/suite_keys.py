"""The page of all keys of a suite file, from the settings."""

from __future__ import annotations

from cfo_bench.settings import Setting, settings_of
from cfo_bench.suite.model import Suite
from scripts.docs import markdown

INTRO = (
    "Every key of a suite file, the option of `cfo-bench run` that does the same, and the field of "
    "`cfo_bench.Suite` in Python. [Suites](../suites.md) explains how they work together. "
    "`cfo-bench schema` prints the JSON Schema of a suite file."
)


def page() -> str:
    rows = [_row(setting) for setting in settings_of(Suite)]
    headings = ["key", "option", "in Python", "default", "what it does"]
    return markdown.page("Suite keys", INTRO, [markdown.table(headings, rows)])


def _row(setting: Setting) -> tuple[str, ...]:
    default = setting.default_in_words()
    return (
        markdown.code(setting.key),
        ", ".join(map(markdown.code, setting.flags)),
        markdown.code(setting.name),
        default if " " in default else markdown.code(default),
        markdown.linked(setting.in_file or setting.help),
    )
