"""The interactive plots of the page: their HTML, and their numbers as scripts.

The explorer has a panel for each task, whose numbers are loaded when it is selected; a chart is a single
figure, with its numbers in the page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import PurePosixPath
from typing import Any

import orjson

from cfo_bench.metrics import Array, MetricFacts
from cfo_bench.report.contents import LinePlot, Table
from cfo_bench.report.method_styles import MethodStyle, style_of
from cfo_bench.report.numbers.scores import MethodScores, TaskScores
from cfo_bench.report.rendering import layout
from cfo_bench.report.rendering.assets import template
from cfo_bench.report.rendering.charts import is_wide
from cfo_bench.results.digest import Incumbents

# The number of tasks whose curves are drawn when the page opens.
FIRST_TASKS = 4


def explorer(
    learner: str,
    anchor: str,
    styles: Mapping[str, MethodStyle],
    tasks: Sequence[TaskScores],
    tables: Sequence[str | None],
    static: str,
    band: bool,
) -> str:
    """Switches for methods, in the order of `styles`, and for tasks, and an area for the panels.

    `static` are the figures for readers without scripts; `band`: whether confidence intervals are switched on
    at first.
    """
    methods = "".join(
        f'<label><input type="checkbox" data-method value="{escape(name)}" checked>'
        f"{swatch(style)}{escape(name)}</label>"
        for name, style in styles.items()
    )
    boxes = "".join(
        _task_box(learner, index, task, table)
        for index, (task, table) in enumerate(zip(tasks, tables, strict=True))
    )
    return template("explorer.html").substitute(
        anchor=anchor, methods=methods, tasks=boxes, static=static, band=" checked" * band
    )


def chart(tables: Sequence[Table], lines: LinePlot, leaders: Collection[str], title: str) -> str:
    """One interactive plot, drawn from its numbers by the page's script."""
    records = tables[0].records()
    methods = []
    for method in dict.fromkeys(row["method"] for row in records):
        points = [row for row in records if row["method"] == method]
        line = line_of(style_of(method), method in leaders) | {"t": [_short(row[lines.x]) for row in points]}
        columns = {"mean": lines.y}
        if lines.band is not None and points[0][lines.band[0]] is not None:
            columns |= {"low": lines.band[0], "high": lines.band[1]}
        for name, column in columns.items():
            line[name] = [_short(max(row[column], lines.floor)) for row in points]
        methods.append(line)
    data = {
        "name": title,
        "budget": max((row[lines.x] for row in records), default=1.0),
        "x": lines.x_label,
        "y": lines.y_label,
        "view": {"logTime": lines.log_x, "logValue": lines.log_y, "band": lines.band is not None},
        "lowIsBest": lines.low_is_best,
        "bestOnTop": lines.best_on_top,
        "steps": lines.steps,
        "fitsBand": lines.fits_band,
        "methods": methods,
    }
    if lines.choice is None:
        return _chart_panel(data)
    first, column = lines.choice
    choices: dict[str, list[list[float]]] = {first: [line["mean"] for line in methods]}
    for name, of_choice in tables[1].records_by(column).items():
        choices[f"{column} {name:g}"] = [
            [_short(row[lines.y]) for row in of_choice if row["method"] == line["name"]] for line in methods
        ]
    return _chart_panel(data | {"choices": choices}, choices)


@dataclass(frozen=True, slots=True)
class RunLine:
    """The loss of a run's incumbent over time, from its first trial with a loss until `seconds`."""

    name: str
    style: MethodStyle
    incumbents: Incumbents
    seconds: float  # the reading of the run's clock
    is_running: bool


def chart_of_runs(
    title: str, facts: MetricFacts, budget_seconds: float, is_virtual: bool, lines: Sequence[RunLine]
) -> str:
    """An interactive plot with a line for each run. If there are many, only the running ones are in
    colour.
    """
    runs = []
    for line in lines:
        seconds, losses = line.incumbents.seconds, line.incumbents.losses
        # Both ends of every step, because a step function would continue to the end of the axis.
        moments = [*(second for second in seconds for _ in range(2)), max(line.seconds, seconds[-1])][1:]
        values = [loss for loss in losses for _ in range(2)]
        runs.append(
            line_of(replace(line.style, method=line.name), line.is_running)
            | {"t": _shorts_of(moments), "mean": _shorts_of(values)}
        )
    data = {
        "name": title,
        "budget": budget_seconds,
        "x": "virtual seconds" if is_virtual else None,
        "loss": f"best loss so far ({facts.loss_title})",
        "log": is_wide([loss for line in lines for loss in line.incumbents.losses]),
        "view": {"logTime": True, "logValue": None, "band": False},
        "steps": False,
        "methods": runs,
    }
    return _chart_panel(data)


def _chart_panel(data: Mapping[str, Any], choices: Iterable[str] = ()) -> str:
    options = "".join(f"<option>{escape(name)}</option>" for name in choices)
    choice = f'<label class="target">Target<select>{options}</select></label>' if options else ""
    return (
        f'<div class="panel chart">{choice}<div class="plot"></div><p class="sr" aria-live="polite"></p>'
        '<button type="button" class="reset" hidden>Show all</button>'
        f'<script type="application/json">{_script_json(data)}</script></div>'
    )


def _task_box(learner: str, index: int, task: TaskScores, table: str | None) -> str:
    link = escape(layout.href(layout.table_file(learner, table, "csv"))) if table else ""
    about = f"{task.problem}, {task.metric_facts}, {task.budget_seconds:g} s"
    return (
        f'<label><input type="checkbox" value="{escape(task.task)}" data-about="{escape(about)}" '
        f'data-csv="{link}" data-curves="{escape(layout.href(layout.curves_file(learner, index)))}"'
        f"{' checked' if index < FIRST_TASKS else ''}>{escape(task.task)}</label>"
    )


def curves_script(
    learner: str, index: int, styles: Mapping[str, MethodStyle], leaders: Collection[str], task: TaskScores
) -> str:
    """The numbers of one task's plot as a script, the only kind of file that a page on disk may load."""
    methods = [
        _curve(style, name in leaders, task.methods[name])
        for name, style in styles.items()
        if name in task.methods
    ]
    means = [loss for method in methods for loss in method["mean"]]
    data = {
        "name": task.task,
        "budget": task.budget_seconds,
        "x": task.seconds_label,
        "loss": f"mean {'test' if task.by_test else 'best'} loss ({task.metric_facts.loss_title})",
        "scale": {"zero": _short(task.scale.zero_loss), "one": _short(task.scale.one_loss)},
        "log": bool(means) and is_wide(means),
        "methods": methods,
    }
    return numbers_script(layout.curves_file(learner, index), data)


def numbers_script(file: PurePosixPath, data: Mapping[str, Any]) -> str:
    """Numbers of the page as a script, which identifies itself by its file."""
    return f"cfoNumbers({_script_json(layout.href(file))}, {_script_json(data)});\n"


def line_of(style: MethodStyle, leads: bool) -> dict[str, Any]:
    return {
        "name": style.method,
        "light": style.colour,
        "dark": style.dark,
        "dash": _dashes(style),
        "leads": leads,
    }


def _curve(style: MethodStyle, leads: bool, scores: MethodScores) -> dict[str, Any]:
    line = line_of(style, leads)
    if scores.curve is None:
        return {**line, "t": [], "mean": []}
    curve = scores.curve.thinned()
    line |= {"t": _shorts(curve.seconds), "mean": _shorts(curve.mean)}
    if curve.n_folds > 1:
        line |= {"low": _shorts(curve.low), "high": _shorts(curve.high)}
    return line


def _shorts(values: Array) -> list[float]:
    return _shorts_of(values.tolist())


def _shorts_of(values: Iterable[float]) -> list[float]:
    return [_short(value) for value in values]


def _short(value: float) -> float:
    """The value with seven digits, which needs half of the bytes. The tables have all digits."""
    return float(f"{value:.7g}")


def _script_json(value: object) -> str:
    """JSON that is safe in a script: tags and line separators in its strings are escaped."""
    text = orjson.dumps(value).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def swatch(style: MethodStyle) -> str:
    """A sample of the method's line, with its colour and dashes."""
    return f'<svg class="swatch" aria-hidden="true"><use href="#{_line_id(style)}"/></svg>'


def swatch_lines(styles: Iterable[MethodStyle]) -> str:
    """The lines that the swatches of a page refer to, each defined once."""
    lines = "".join(
        f'<symbol id="{_line_id(style)}" viewBox="0 0 24 8">{_piece(style)}</symbol>' for style in styles
    )
    return f'<svg class="symbols" aria-hidden="true">{lines}</svg>'


def whole_swatch(style: MethodStyle) -> str:
    """A `swatch` without a reference to a line of the page, which may lack the method."""
    return f'<svg class="swatch" viewBox="0 0 24 8" aria-hidden="true">{_piece(style)}</svg>'


def _piece(style: MethodStyle) -> str:
    dashes = f' stroke-dasharray="{_dashes(style)}"' if style.dashes else ""
    colours = f"--on-light:{style.colour};--on-dark:{style.dark}"
    return f'<path class="method piece" d="M0 4H24" style="{colours}"{dashes}/>'


def _line_id(style: MethodStyle) -> str:
    return f"line-{html_id(style.method)}"


def html_id(text: str) -> str:
    """Text as part of an id that is safe in an attribute and in a link."""
    return re.sub(r"[^A-Za-z0-9_-]", lambda sign: f"_{ord(sign[0]):x}_", text)


def _dashes(style: MethodStyle) -> str:
    return " ".join(f"{1.5 * length:g}" for length in style.dashes)
