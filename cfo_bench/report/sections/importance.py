"""The importance of each hyperparameter, by task: only on request, since every trial is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cfo_bench.report.contents import CellValue, Figure, Section, SectionContent, Table
from cfo_bench.report.numbers.hyperparameters import (
    FEWEST_TRIALS,
    FORESTS,
    MOST_TRIALS,
    TREES,
    Importance,
    importance,
)
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.rendering.charts import heat_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_COLOURS = ("#FFFFFF", "#5B8DB8")


class ImportanceSection(Section):
    """Absent if it was not requested."""

    name = "importance"
    title = "Importance of the hyperparameters"

    def build(self, results: LearnerResults) -> SectionContent | None:
        if not results.importance:
            return None
        importances: dict[str, Importance] = {}
        missing = []
        for task in results.scores:
            runs = [run for run in results.runs if run.task == task.task and run.method in results.methods]
            importance_of_task = importance(runs)
            if importance_of_task is None:
                missing.append(task.task)
            else:
                importances[task.task] = importance_of_task
        means, spreads = _means(importances), _spreads(importances)
        figure = Figure(
            "importance",
            "Importance of the hyperparameters",
            "The share of the variance of the loss that a hyperparameter explains by itself, in percent: the "
            f"mean over {FORESTS} forests ± the standard deviation. The order of hyperparameters that "
            "differ by less than that is not reliable. The rest to 100 comes from interactions of several "
            "hyperparameters.",
            (means, spreads),
            partial(draw, means, spreads),
            alt="Tasks against hyperparameters, in percent. The most important of each task: "
            + "; ".join(
                _first_in_words(task, importance_of_task) for task, importance_of_task in importances.items()
            ),
        )
        return SectionContent(
            "By fANOVA: a random forest learns to predict the loss from all configurations that were tried "
            "on a task. Then the variance of its predictions is split up by hyperparameter. This holds for "
            "the part of the search space that the methods have searched.",
            tables=(means, spreads) if importances else (),
            figures=(figure,) if importances else (),
            warnings=(
                f"fewer than {FEWEST_TRIALS} trials with a loss, or no search space in the traces: "
                f"{', '.join(missing)}",
            )
            if missing
            else (),
        )


def _first_in_words(task: str, importance: Importance) -> str:
    name = max(importance.shares, key=importance.shares.__getitem__)
    return f"{task} {name} {100 * importance.shares[name]:.0f} ± {100 * importance.spreads[name]:.0f}"


def _names(importances: Mapping[str, Importance]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for importance in importances.values() for name in importance.shares))


def _percent(shares: Mapping[str, float], names: Sequence[str], interactions: float) -> list[CellValue]:
    return [*(100 * shares[name] if name in shares else None for name in names), 100 * interactions]


def _means(importances: Mapping[str, Importance]) -> Table:
    names = _names(importances)
    return Table(
        "importance",
        "Importance of the hyperparameters",
        "One row for each task: the share of the variance of the loss that each hyperparameter explains by "
        f"itself, and that of interactions, in percent: means over {FORESTS} forests of {TREES} trees. "
        "From the trials of all methods that succeeded and used all rows. Losses are relative to the mean "
        "of their fold; those above the constant predictor's count as that. Of more than "
        f"{MOST_TRIALS} trials, each forest learns from its own random sample, which is always the same.",
        ("task", *names, "interactions", "trials_used", "trials"),
        [
            [
                task,
                *_percent(importance.shares, names, importance.interactions),
                importance.used,
                importance.scored,
            ]
            for task, importance in importances.items()
        ],
        verbatim=names,
    )


def _spreads(importances: Mapping[str, Importance]) -> Table:
    names = _names(importances)
    return Table(
        "importance-spread",
        "Spread of the importance",
        f"One row for each task: the standard deviation of each importance over the {FORESTS} forests, in "
        "percent. If all trials are used, it is that of the forests alone.",
        ("task", *names, "interactions"),
        [
            [task, *_percent(importance.spreads, names, importance.interactions_spread)]
            for task, importance in importances.items()
        ],
        verbatim=names,
    )


def draw(means: Table, spreads: Table) -> Canvas:
    names = spreads.columns[1:]
    shares, spread = (
        [
            [math.nan if value is None else float(value) for value in row[1 : 1 + len(names)]]
            for row in table.rows
        ]
        for table in (means, spreads)
    )
    return heat_map(shares, [str(row[0]) for row in means.rows], names, _COLOURS, spread)
