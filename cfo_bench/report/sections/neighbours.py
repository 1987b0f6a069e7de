"""Loss and cost against K, the number of neighbours, from the traces of `cfo-bench study knn`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cfo_bench.errors import TraceError
from cfo_bench.report.contents import CellValue, Figure, Place, Section, SectionContent, Table
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paper_tables import findings, points
from cfo_bench.report.rendering import style
from cfo_bench.results.run import STUDY, Run, read_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_LOSS, _COST = "#D55E00", "#0072B2"


class NeighboursSection(Section):
    """Absent if the runs have no study of nearest neighbours."""

    name = "neighbours"
    title = "Loss and cost against the number of neighbours"
    place = Place.SUPPORT
    least_methods = 0

    def build(self, results: LearnerResults) -> SectionContent | None:
        figures, warnings = [], []
        rows: list[list[CellValue]] = []
        for run in sorted(results.runs, key=lambda run: (run.task, run.fold, run.seed)):
            if run.method != STUDY or run.learner != "knn":
                continue
            study = read_run(run.path)
            try:
                if study is None:
                    raise TraceError("its trace does not exist any more")
                finding = findings(study)
            except TraceError as error:
                warnings.append(f"{run.task}, fold {run.fold}: {error}")
                continue
            rows.append(
                [
                    run.task,
                    run.fold,
                    finding.best_k,
                    finding.best_loss,
                    finding.best_seconds,
                    finding.rises_from,
                ]
            )
            figures.append(figure_of(study))
        if not rows and not warnings:
            return None
        best = Table(
            "neighbours",
            "The best numbers of neighbours",
            "One row for each study: the K with the lowest loss, that loss, its seconds, and the K from "
            "which on the loss only rises (a dash if none).",
            ("task", "fold", "best_k", "best_loss", "seconds", "rises_from"),
            rows,
        )
        return SectionContent(
            "The paper assumes that beyond the best K, a more expensive K has a higher loss. The captions "
            "say whether this is so in each study.",
            tables=(best,),
            figures=tuple(figures),
            warnings=tuple(warnings),
        )


def figure_of(study: Run) -> Figure:
    """Loss and cost of one study, for every K."""
    task, fold = study.task, study.fold
    table = Table(
        f"neighbours-{task}-fold-{fold}-seed-{study.seed}",
        f"Loss and cost against K on {task}, fold {fold}",
        "One row for each K: the validation loss, and the seconds to train and validate.",
        ("task", "fold", "k", "loss", "seconds"),
        [[task, fold, *point] for point in points(study)],
    )
    loss = f"validation loss, {study.header.metric_facts.loss_title}"
    drawing = partial(draw, table, f"{task}, fold {fold}", loss)
    return Figure(table.name, table.title, f"{findings(study)}.", (table,), drawing)


def save_beside(study: Run, path: Path) -> list[Path]:
    """Writes the figure of a study beside its trace, as PNG and as PDF."""
    files = [path.with_suffix(suffix) for suffix in (".png", ".pdf")]
    canvas = figure_of(study).draw()
    for file in files:
        style.save(canvas, file)
    return files


def draw(table: Table, title: str, loss: str) -> Canvas:
    """The loss on the left axis, the seconds on the right."""
    records = table.records()
    canvas = style.canvas(style.COLUMN + 0.6, 2.7)
    left = canvas.add_subplot()
    right = left.twinx()
    ks = [row["k"] for row in records]
    marker = "." if len(ks) < 40 else ""
    left.plot(ks, [row["loss"] for row in records], color=_LOSS, linewidth=1.3, marker=marker)
    right.plot(ks, [row["seconds"] for row in records], color=_COST, linewidth=0.9, linestyle=(0, (4, 1.5)))
    style.dress(left, title, "K, the number of neighbours", loss, grid="x")
    style.dress(right, y="seconds (dashed)", grid="")
    right.set_ylim(bottom=0)
    right.spines["right"].set_visible(True)
    for axes, colour in ((left, _LOSS), (right, _COST)):
        axes.yaxis.label.set_color(colour)
        axes.tick_params(axis="y", colors=colour)
    return canvas
