"""How much each hyperparameter matters, by task: only if it is asked for, since every trial is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from cfo_bench.report.contents import CellValue, Figure, Section, Table
from cfo_bench.report.numbers.fanova import FEWEST_TRIALS, MOST_TRIALS, Importance, importance
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.rendering.heat_map import heat_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_COLOURS = ("#FFFFFF", "#5B8DB8")


def section(results: LearnerResults) -> Section | None:
    """None if it was not asked for."""
    if not results.importance:
        return None
    found: dict[str, Importance] = {}
    missing = []
    for task in results.scores:
        runs = [one for one in results.digests if one.task == task.task and one.method in results.methods]
        own = importance(runs)
        if own is None:
            missing.append(task.task)
        else:
            found[task.task] = own
    table = _table(found)
    figure = Figure(
        "importance",
        "Importance of the hyperparameters",
        "How much of the variation of the loss a hyperparameter explains by itself, in percent. What is "
        "missing to 100 comes from several hyperparameters together (interactions).",
        (table,),
        partial(draw, table),
        alt="Tasks against hyperparameters, in percent. The most important of each task: "
        + "; ".join(f"{task} {max(own.shares, key=own.shares.__getitem__)}" for task, own in found.items()),
    )
    return Section(
        "importance",
        "Which hyperparameters matter",
        "By fANOVA: a random forest learns to predict the loss from all configurations that were tried on a "
        "task. Then the variation of its predictions is split up by hyperparameter. This holds where the "
        "methods have searched.",
        tables=(table,) if found else (),
        figures=(figure,) if found else (),
        warnings=(
            f"fewer than {FEWEST_TRIALS} trials with a loss, or no search space in the traces: "
            f"{', '.join(missing)}",
        )
        if missing
        else (),
    )


def _table(found: Mapping[str, Importance]) -> Table:
    names = list(dict.fromkeys(name for own in found.values() for name in own.shares))
    rows: list[list[CellValue]] = [
        [
            task,
            *(None if name not in own.shares else 100 * own.shares[name] for name in names),
            max(100 * (1 - sum(own.shares.values())), 0.0),
            own.used,
            own.scored,
        ]
        for task, own in found.items()
    ]
    return Table(
        "importance",
        "Importance of the hyperparameters",
        "One row for each task: how much of the variation of the loss each hyperparameter explains by "
        "itself, and how much interactions do, in percent. From the trials of all methods that ended well "
        "and used all rows. Losses are relative to the mean of their fold; those above the constant "
        f"predictor's count as that. Of more than {MOST_TRIALS} trials a random sample is used, always the "
        "same.",
        ("task", *names, "interactions", "trials_used", "trials"),
        rows,
    )


def draw(table: Table) -> Canvas:
    shares = [[math.nan if value is None else float(value) for value in row[1:-2]] for row in table.rows]
    return heat_map(shares, [str(row[0]) for row in table.rows], table.columns[1:-2], _COLOURS)
