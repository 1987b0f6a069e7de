"""Loss and cost against K, the number of neighbours, from the traces of `cfo-bench study knn`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cfo_bench.errors import TraceError
from cfo_bench.report.contents import CellValue, Figure, Section, Table
from cfo_bench.report.numbers.knn_study import findings, seconds
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import STUDY
from cfo_bench.report.rendering import style
from cfo_bench.results import trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_LOSS, _COST = "#D55E00", "#0072B2"


def section(results: LearnerResults) -> Section | None:
    """None when there is no study of nearest neighbours among the runs."""
    figures, warnings = [], []
    rows: list[list[CellValue]] = []
    for one in sorted(results.digests, key=lambda one: (one.task, one.fold, one.seed)):
        if one.method != STUDY or one.learner != "knn":
            continue
        found = trace.read(Path(one.path))
        name = f"{one.task}, fold {one.fold}"
        try:
            if found is None:
                raise TraceError("its trace is gone")
            told = findings(found)
        except TraceError as error:
            warnings.append(f"{name}: {error}")
            continue
        points: list[list[CellValue]] = [
            [one.task, one.fold, trial.config["k"], trial.loss, seconds(trial)]
            for trial in sorted(found.trials, key=lambda trial: trial.config["k"])
            if trial.loss is not None
        ]
        table = Table(
            f"neighbours-{one.task}-fold-{one.fold}-seed-{one.seed}",
            f"Loss and cost against K on {name}",
            "One row a K: the validation loss, and the seconds to train and validate.",
            ("task", "fold", "k", "loss", "seconds"),
            points,
        )
        rows.append([one.task, one.fold, told.best_k, told.best_loss, told.best_seconds, told.rises_from])
        figures.append(Figure(table.name, table.title, f"{told}.", (table,), partial(draw, table, name)))
    if not rows and not warnings:
        return None
    best = Table(
        "neighbours",
        "The best numbers of neighbours",
        "One row a study: the K of the lowest loss, that loss, its seconds, and the K from which on the loss "
        "only rises (none: it does not).",
        ("task", "fold", "best_k", "best_loss", "seconds", "rises_from"),
        rows,
    )
    return Section(
        "neighbours",
        "Loss and cost against the number of neighbours",
        "Near the best K, where the cost is above that of the best, the loss does not come down as the cost "
        "goes up.",
        tables=(best,),
        figures=tuple(figures),
        warnings=tuple(warnings),
    )


def draw(table: Table, title: str) -> Canvas:
    records = table.records()
    canvas = style.canvas(style.COLUMN + 0.6, 2.7)
    left = canvas.add_subplot()
    right = left.twinx()
    ks = [row["k"] for row in records]
    marker = "." if len(ks) < 40 else ""
    left.plot(ks, [row["loss"] for row in records], color=_LOSS, linewidth=1.3, marker=marker)
    right.plot(ks, [row["seconds"] for row in records], color=_COST, linewidth=0.9, linestyle=(0, (4, 1.5)))
    style.dress(left, title, "K, the number of neighbours", "validation loss", grid="x")
    style.dress(right, y="seconds (dashed)", grid="")
    right.set_ylim(bottom=0)
    right.spines["right"].set_visible(True)
    for axes, colour in ((left, _LOSS), (right, _COST)):
        axes.yaxis.label.set_color(colour)
        axes.tick_params(axis="y", colors=colour)
    return canvas
