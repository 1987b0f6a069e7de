"""The optimality table: who reaches the best score first, how much later others do, and who does not."""

from __future__ import annotations

from cfo_bench.report.contents import CellValue, Section, Table
from cfo_bench.report.looks import look
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import REACHES, optimality


def section(results: LearnerResults) -> Section:
    cells = {(cell.task, cell.method): cell for task in results.scores for cell in optimality(task)}
    printed: list[list[CellValue]] = []
    numbers: list[list[CellValue]] = []
    for task in results.scores:
        texts: list[CellValue] = []
        for method in results.methods:
            cell = cells.get((task.task, method))
            if cell is None:
                texts.append("not run")
                numbers.append([task.task, method, "not run", *[None] * 5, task.scale.by, 0, 0])
                continue
            found = task.methods[method]
            runs = found.curve.n_folds if found.curve else 0
            texts.append(cell.text + "*" * bool(found.imputed))
            numbers.append(
                [
                    *(task.task, method, cell.outcome, found.final_loss, cell.score, cell.seconds),
                    *(cell.cost_ratio, cell.gap_percent, task.scale.by, runs, found.imputed),
                ]
            )
        printed.append([task.task, *texts])
    note = (
        "Bold: the scaled score and the seconds of the method that first reaches the best score "
        f"({REACHES:.2%} of the highest). ×: reaches it in that many times the time. %: ends that far below "
        "it. A star: a run without a result counts as the constant predictor."
    )
    return Section(
        "optimality",
        "Optimality of score and cost",
        "On classification 0 is the constant predictor and 1 the tuned random forest, or a loss of 0 where "
        "the forest was not run; on regression the score is r2.",
        tables=(
            Table(
                "optimality",
                "Optimality of score and cost",
                note,
                ("task", *(look(method).label for method in results.methods)),
                printed,
            ),
            Table(
                "optimality-cells",
                "The cells as numbers",
                "One row a task and method: mean final loss, scaled score, seconds to reach the best score, "
                "these over the least, percent below the best, what a score of 1 is, runs, and runs imputed.",
                (
                    *("task", "method", "outcome", "final_loss", "score", "seconds_to_best"),
                    *("cost_ratio", "gap_percent", "score_1_is", "runs", "imputed_runs"),
                ),
                numbers,
            ),
        ),
        warnings=_scales(results),
    )


def _scales(results: LearnerResults) -> tuple[str, ...]:
    plain = [task.task for task in results.scores if task.scale.by == "a loss of 0"]
    if not plain:
        return ()
    names = ", ".join(plain[:5]) + (f" and {len(plain) - 5} more" if len(plain) > 5 else "")
    return (
        f"scores of {names} are scaled so that 1 is a loss of 0: there, no tuned random forest (method "
        "tuned-rf) has a result on all folds and beats the constant predictor",
    )
