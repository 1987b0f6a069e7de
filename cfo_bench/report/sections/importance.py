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
        "Percent of the variance of the loss over the search space that a hyperparameter explains alone; "
        "what is missing to 100 are interactions.",
        (table,),
        partial(draw, table),
        alt="Tasks against hyperparameters, in percent. The most important of each task: "
        + "; ".join(f"{task} {max(own.shares, key=own.shares.__getitem__)}" for task, own in found.items()),
    )
    return Section(
        "importance",
        "Which hyperparameters matter",
        "fANOVA: a random forest learns the loss from the configurations that all methods have tried on a "
        "task, and the variance of its predictions is split up by hyperparameter. It says what mattered for "
        "the loss where the methods have searched, not what any method knew.",
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
        "One row a task: percent of the variance of the loss that each hyperparameter explains alone, and "
        "that interactions explain. From trials of all methods on all rows that ended well; losses are "
        "relative to the mean of their fold, and those above the constant predictor's count as that. If "
        f"there are more than {MOST_TRIALS}, the trials used are a random sample of them, always the same.",
        ("task", *names, "interactions", "trials_used", "trials"),
        rows,
    )


def draw(table: Table) -> Canvas:
    shares = [[math.nan if value is None else float(value) for value in row[1:-2]] for row in table.rows]
    return heat_map(shares, [str(row[0]) for row in table.rows], table.columns[1:-2], _COLOURS)
