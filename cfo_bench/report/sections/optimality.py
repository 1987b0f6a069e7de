"""The optimality table: who reaches the best score first, how much later others do, and who does not."""

from __future__ import annotations

from cfo_bench.report.contents import CellValue, Place, Section, Table, some
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import TIE_FACTOR
from cfo_bench.report.sections.notes import STAR, measured_on, part
from cfo_bench.results.best_so_far import REACHES


def section(results: LearnerResults) -> Section:
    cells = results.cells
    printed: list[list[CellValue]] = []
    numbers: list[list[CellValue]] = []
    for task in results.scores:
        texts: dict[str, CellValue] = {}
        for method in results.methods:
            cell = cells.get((task.task, method))
            if cell is None:
                texts[method] = "not run"
                numbers.append(
                    [
                        *(task.task, method, "not run", task.metric_name, part(task), *[None] * 6),
                        *(task.scale.by, 0, 0),
                    ]
                )
                continue
            found = task.methods[method]
            runs = len(task.shared) if found.curve else 0
            texts[method] = cell.text + "*" * bool(found.imputed)
            native = None if found.final_loss is None else task.native(found.final_loss)
            numbers.append(
                [
                    *(task.task, method, cell.outcome, task.metric_name, part(task)),
                    *(native, found.final_loss, found.final_score, cell.seconds),
                    *(cell.cost_ratio, cell.gap_percent, task.scale.by, runs, found.imputed),
                ]
            )
        printed.append([task.task, *(texts[method] for method in results.best_first)])
    note = (
        "Bold: the first method to reach the best scaled score, or "
        f"{100 * REACHES:g} % of it: the score, and the seconds it took. Several are bold if they tie: they "
        f"need at most ×{TIE_FACTOR:g} the least time, or one trial more. ×2.0: reaches the best score "
        f"too, in twice that time. −5.0%: never reaches it, and ends 5 % below. {STAR} Left out: it has too "
        f"few of the task's runs. Methods by mean rank. {measured_on(results.scores)}"
    )
    return Section(
        "optimality",
        "How good, and how soon",
        "As in the paper's table: which method reaches the best score first, and how far behind the others "
        "are. So that tasks can be compared, scores are scaled. In classification, 0 is a predictor that "
        "always gives the same answer (the constant predictor), and 1 is a tuned random forest; where that "
        "was not run, 1 is a loss of 0. In regression the scaled score is r2.",
        tables=(
            Table(
                "optimality",
                "Optimality of score and cost",
                note,
                ("task", *results.best_first),
                printed,
                verbatim=tuple(results.best_first),
            ),
            Table(
                "optimality-cells",
                "The cells as numbers",
                "One row for each task and method: mean final score in the task's metric, whether that is a "
                "test or a validation score, mean final loss, scaled score, seconds to the best score, how "
                "many times the least time that is (cost ratio), how far it ends below the best (gap), what "
                "a scaled score of 1 is, its runs, and how many of them have no result (imputed).",
                (
                    *("task", "method", "outcome", "metric", "score_is", "final_score", "final_loss"),
                    *("scaled_score", "seconds_to_best", "cost_ratio", "gap_percent", "score_1_is", "runs"),
                    "imputed_runs",
                ),
                numbers,
            ),
        ),
        warnings=(*_useless(results), *_scales(results)),
        place=Place.SUPPORT,
    )


def _useless(results: LearnerResults) -> tuple[str, ...]:
    names = [task.task for task in results.scores if task.leaders and not task.beats_constant]
    return (f"nobody beats the constant predictor on {', '.join(names)}: nobody wins there",) if names else ()


def _scales(results: LearnerResults) -> tuple[str, ...]:
    plain = [task.task for task in results.scores if task.scale.by == "a loss of 0"]
    if not plain:
        return ()
    return (
        f"scaled scores of {some(plain)} are such that 1 is a loss of 0: there, no tuned random forest "
        "(method tuned-rf) has a result on all folds and beats the constant predictor",
    )
