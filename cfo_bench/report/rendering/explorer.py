"""The interactive curves of the page: its controls as HTML, and each task's numbers as a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import orjson

from cfo_bench.metrics import Array
from cfo_bench.report.looks import Look
from cfo_bench.report.numbers.scores import MethodScores, TaskScores
from cfo_bench.report.rendering import layout
from cfo_bench.report.rendering.assets import template

# Tasks whose curves are drawn when the page opens.
FIRST_TASKS = 4
# With more methods than this the confidence bands would hide the lines: they are off at first.
MOST_BANDS = 6


def explorer(
    learner: str,
    anchor: str,
    looks: Mapping[str, Look],
    tasks: Sequence[TaskScores],
    tables: Sequence[str | None],
) -> str:
    """The section: switches for the methods, in the order of `looks`, and for the tasks."""
    methods = "".join(
        f'<label><input type="checkbox" data-method value="{escape(name)}" checked>'
        f'<span class="swatch method" style="{colour_style(look)}"></span>{escape(name)}</label>'
        for name, look in looks.items()
    )
    boxes = "".join(
        _task_box(learner, index, task, table)
        for index, (task, table) in enumerate(zip(tasks, tables, strict=True))
    )
    band = " checked" if len(looks) <= MOST_BANDS else ""
    return template("explorer.html").substitute(anchor=anchor, methods=methods, tasks=boxes, band=band)


def _task_box(learner: str, index: int, task: TaskScores, table: str | None) -> str:
    link = escape(layout.href(layout.table_file(learner, table, "csv"))) if table else ""
    about = f"{task.problem}, {task.metric}, {task.budget_seconds:g} s"
    return (
        f'<label><input type="checkbox" value="{escape(task.task)}" data-about="{escape(about)}" '
        f'data-csv="{link}" data-curves="{escape(layout.href(layout.curves_file(learner, index)))}"'
        f"{' checked' if index < FIRST_TASKS else ''}>{escape(task.task)}</label>"
    )


def curves_script(learner: str, index: int, looks: Mapping[str, Look], task: TaskScores) -> str:
    """The numbers of one task's plot, as a script: a page that is opened from disk may load nothing else."""
    data = {
        "name": task.task,
        "budget": task.budget_seconds,
        "scale": {"zero": _short(task.scale.zero_loss), "one": _short(task.scale.one_loss)},
        "methods": [_curve(look, task.methods[name]) for name, look in looks.items() if name in task.methods],
    }
    file = layout.href(layout.curves_file(learner, index))
    return f"cfoCurves({_script_json(file)}, {_script_json(data)});\n"


def _curve(look: Look, found: MethodScores) -> dict[str, Any]:
    line: dict[str, Any] = {
        "name": found.method,
        "light": look.colour,
        "dark": dark_colour(look.colour),
        "dash": " ".join(f"{1.5 * length:g}" for length in look.dashes),
    }
    if found.curve is None:
        return {**line, "t": [], "mean": []}
    curve = found.curve.thinned()
    line |= {"t": _shorts(curve.seconds), "mean": _shorts(curve.mean)}
    if curve.n_folds > 1:
        line |= {"low": _shorts(curve.low), "high": _shorts(curve.high)}
    return line


def _shorts(values: Array) -> list[float]:
    return [_short(value) for value in values.tolist()]


def _short(value: float) -> float:
    """Seven digits: more than a screen shows, in half the bytes. The tables have all digits."""
    return float(f"{value:.7g}")


def _script_json(value: object) -> str:
    """JSON that is safe inside a script: tags and ends of lines in its strings are escaped."""
    text = orjson.dumps(value).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def colour_style(look: Look) -> str:
    return f"--on-light:{look.colour};--on-dark:{dark_colour(look.colour)}"


def dark_colour(colour: str) -> str:
    """The colour, made lighter if it would not be seen on a dark background."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    for share in (0.0, 0.15, 0.3, 0.45, 0.6, 0.75):
        mixed = [round(part + (255 - part) * share) for part in (red, green, blue)]
        if _luminance(mixed) > 0.2:
            break
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _luminance(colour: Sequence[int]) -> float:
    """As WCAG defines it, 0 for black and 1 for white."""
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
