"""The pages of all methods and all learners, from the registries."""

from __future__ import annotations

import json
from collections.abc import Iterator

from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from cfo_bench.optimizers.description import described_method
from cfo_bench.registry import PLUG_INS, Registry, Row
from cfo_bench.space import Categorical, Param
from scripts.docs import markdown

# The number of training rows for which a space is shown: some bounds grow with it.
ROWS = 30_000
# Learners whose space depends on the task's recording, or on more than their name.
WITHOUT_SPACE = ("hpobench-mlp", "hpolib")


def methods_page() -> str:
    intro = (
        "Every method with its options, their defaults and what they take, as `cfo-bench methods NAME` "
        "prints them. Set one with `--option KEY=VALUE`. [Methods](../methods.md) describes what each is "
        "given and how we use its package; [How we read the paper](../readings.md) explains the options "
        "of `cfo`."
    )
    return markdown.page("Options of the methods", intro, _methods())


def _methods() -> Iterator[str]:
    listed = {name: row for name, row in METHODS.listed().items() if row.group != PLUG_INS}
    for group in dict.fromkeys(row.group for row in listed.values()):
        yield f"## {group.capitalize()}"
        for name, row in listed.items():
            if row.group == group:
                yield _entry(METHODS, name, row) + _properties(name, row)


def _properties(name: str, row: Row) -> str:
    if name not in METHODS.builtin or row.missing is not None:
        return ""
    rows = [(heading, markdown.linked(text)) for heading, text in described_method(name).in_words().items()]
    return f"\n\n{markdown.table(['property', 'of this method'], rows)}"


def learners_page() -> str:
    intro = (
        f"Every learner with its hyperparameters. Some upper bounds grow with the number of training rows; "
        f"this page shows them for {ROWS:,} rows. *Start* is the low-cost start, where the search begins. "
        "[Learners](../learners.md) explains how each one trains."
    )
    rows = {name: row for name, row in LEARNERS.listed().items() if row.group != PLUG_INS}
    sections = (_entry(LEARNERS, name, row) + _space(name, row) for name, row in sorted(rows.items()))
    return markdown.page("Spaces of the learners", intro, sections)


def _entry(registry: Registry, name: str, row: Row) -> str:
    lines = [f"### {markdown.code(name)}", f"{row.summary[:1].upper()}{row.summary[1:]}."]
    if row.source.startswith("http"):
        lines.append(f"Source: <{row.source}>")
    if row.extra:
        lines.append(f"Needs {markdown.code(row.remedy)}.")
    if name in registry.builtin and row.missing is None:
        options = [
            (markdown.code(option.name), markdown.code(json.dumps(option.default)), option.takes, option.does)
            for option in registry.described_options(name)
        ]
        headings = ["option", "default", "takes", "what it does"]
        lines.append(markdown.table(headings, options) if options else "No options.")
    return "\n\n".join(lines)


def _space(name: str, row: Row) -> str:
    if name not in LEARNERS.builtin or row.missing is not None or name in WITHOUT_SPACE:
        return ""
    learner = LEARNERS.load(name)()
    space = learner.space(ROWS)
    start = learner.start(space)
    rows = [
        (
            markdown.code(param.name),
            *_range(param),
            markdown.code(json.dumps(start[param.name])),
            "yes" if param.name in learner.cost_related else "",
        )
        for param in space
    ]
    headings = ["hyperparameter", "range", "scale", "start", "drives the cost"]
    return f"\n\n{markdown.table(headings, rows)}"


def _range(param: Param) -> tuple[str, str]:
    if isinstance(param, Categorical):
        return ", ".join(map(str, param.choices)), "ordered choices" if param.ordered else "choices"
    bounds = (
        f"{param.low:g} to {param.high:g}" if isinstance(param.low, float) else f"{param.low} to {param.high}"
    )
    whole = "whole numbers, " if isinstance(param.low, int) else ""
    return bounds, f"{whole}{'logarithmic' if param.log else 'linear'}"
