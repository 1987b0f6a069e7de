"""The optimality table of the paper: which method reaches the best score first; and the paper's own table."""

from __future__ import annotations

from itertools import combinations

from cfo_bench.report.contents import CellValue, Place, Section, SectionContent, Table, some
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paper_tables import BUDGETS, in_the_paper, key, order, printed
from cfo_bench.report.numbers.scores import TIE_FACTOR, Cell
from cfo_bench.report.sections.final_scores import STAR, measured_on
from cfo_bench.results.best_so_far import REACHES

# The paper's cell and ours, by task and method.
CellPairs = dict[tuple[str, str], tuple[Cell, Cell]]

_WORDS = {1: "behind", 0: "equal", -1: "ahead"}


class OptimalitySection(Section):
    name = "optimality"
    title = "Best scores, and the time to reach them"
    place = Place.SUPPORT

    def build(self, results: LearnerResults) -> SectionContent:
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
                            *(task.task, method, "not run", task.metric_name, task.part, *[None] * 6),
                            *(task.scale.by, 0, 0),
                        ]
                    )
                    continue
                scores = task.methods[method]
                runs = len(task.shared) if scores.curve else 0
                texts[method] = cell.text + "*" * bool(scores.imputed)
                native = None if scores.final_loss is None else task.native(scores.final_loss)
                numbers.append(
                    [
                        *(task.task, method, cell.outcome, task.metric_name, task.part),
                        *(native, scores.final_loss, scores.final_score, cell.seconds),
                        *(cell.cost_ratio, cell.gap_percent, task.scale.by, runs, scores.imputed),
                    ]
                )
            printed.append([task.task, *(texts[method] for method in results.methods)])
        note = (
            "Bold: the first method to reach the best scaled score, or "
            f"{100 * REACHES:g} % of it: the score, and the seconds it took. Several are bold if they tie: "
            f"they need at most ×{TIE_FACTOR:g} the least time, or one trial more. ×2.0: reaches the best "
            f"score too, in twice that time. −5.0%: never reaches it, and ends 5 % below. {STAR} Left out: "
            f"the method has too few of the task's runs. Methods by mean rank. {measured_on(results.scores)}"
        )
        return SectionContent(
            "As in the paper's table: which method reaches the best score first, and how far behind the "
            "others are. Scores are scaled, so that tasks can be compared. In classification, 0 is a "
            "predictor that always gives the same answer (the constant predictor), and 1 is a tuned random "
            "forest; on tasks without a forest, 1 is a loss of 0. r2 is its own scaled score.",
            tables=(
                Table(
                    "optimality",
                    "Optimality of score and cost",
                    note,
                    ("task", *results.methods),
                    printed,
                    verbatim=tuple(results.methods),
                ),
                Table(
                    "optimality-cells",
                    "The cells as numbers",
                    "One row for each task and method: mean final score in the task's metric, whether that "
                    "is a test or a validation score, mean final loss, scaled score, seconds to the best "
                    "score, how many times the least time that is (cost ratio), how far it ends below the "
                    "best (gap), what a scaled score of 1 is, its runs, and how many of them have no result "
                    "(imputed).",
                    (
                        *("task", "method", "outcome", "metric", "score_is", "final_score", "final_loss"),
                        *(
                            "scaled_score",
                            "seconds_to_best",
                            "cost_ratio",
                            "gap_percent",
                            "score_1_is",
                            "runs",
                        ),
                        "imputed_runs",
                    ),
                    numbers,
                ),
            ),
            warnings=(*_useless(results), *_scales(results)),
        )


def _useless(results: LearnerResults) -> tuple[str, ...]:
    names = [task.task for task in results.scores if task.leaders and not task.beats_constant]
    if not names:
        return ()
    return (f"no method beats the constant predictor on {', '.join(names)}: no method wins these tasks",)


def _scales(results: LearnerResults) -> tuple[str, ...]:
    plain = [task.task for task in results.scores if task.scale.by == "a loss of 0"]
    if not plain:
        return ()
    return (
        f"on {some(plain)} a scaled score of 1 is a loss of 0, because no tuned random forest (method "
        "tuned-rf) has a result on all folds and beats the constant predictor",
    )


class PaperSection(Section):
    """The paper's cells next to ours; absent if the paper has none of these learners, tasks or methods."""

    name = "paper"
    title = "Comparison with the paper's table"

    def build(self, results: LearnerResults) -> SectionContent | None:
        learner = in_the_paper(results.learner)
        theirs = printed(learner)
        named = _paper_names(results)
        cell_pairs = {
            (task, method): (theirs[key(named[task]), method], cell)
            for (task, method), cell in results.cells.items()
            if (key(named[task]), method) in theirs and cell.outcome not in ("missing", "left out")
        }
        if not cell_pairs:
            return None
        cells = _side_by_side(results, cell_pairs)
        base = results.baseline
        budgets = sorted({task.budget_seconds for task in results.scores})
        return SectionContent(
            f"The cells of the paper's table, and those of these runs. {_recorded(results, learner)}The "
            f"budget of a run was {BUDGETS[learner]:g} s on the paper's machines, and "
            f"{' to '.join(f'{b:g}' for b in dict.fromkeys((budgets[0], budgets[-1])))} s here: orders can "
            f"be compared, seconds can't. Ahead and behind refer to {base} on the same task.",
            tables=(_agreement(results, cell_pairs), cells),
            warnings=()
            if any(method == results.baseline for _, method in cell_pairs)
            else (f"{results.baseline} is not in the paper's table, or has no result: no order against it",),
        )


def _paper_names(results: LearnerResults) -> dict[str, str]:
    """The paper's name of each task. A recording states which data of the paper it is of."""
    return {run.task: run.header.data.paper_task or run.task for run in results.runs}


def _recorded(results: LearnerResults, learner: str) -> str:
    if learner == results.learner:
        return ""
    return (
        f"These runs are on the recording {results.learner}, the paper's are of {learner}: the same data and "
        "kind of model, but another search space, and for some tasks another loss. "
    )


def _side_by_side(results: LearnerResults, cell_pairs: CellPairs) -> Table:
    rows: list[list[CellValue]] = []
    for task in results.scores:
        base = cell_pairs.get((task.task, results.baseline))
        for method in results.methods:
            if (task.task, method) not in cell_pairs:
                continue
            theirs, ours = cell_pairs[task.task, method]
            signs: list[CellValue] = [None] * 3
            if base is not None and method != results.baseline:
                paper_order, our_order = order(theirs, base[0]), order(ours, base[1])
                signs = [_WORDS[paper_order], _WORDS[our_order], paper_order == our_order]
            rows.append([task.task, method, theirs.text, ours.text, *signs])
    return Table(
        "paper-cells",
        "Cells of the paper and of these runs",
        f"One row for each task and method: both cells, whether the method is ahead of or behind "
        f"{results.baseline} on the task in the paper and here, and whether these agree.",
        ("task", "method", "paper", "ours", "paper_order", "our_order", "same"),
        rows,
    )


def _agreement(results: LearnerResults, cell_pairs: CellPairs) -> Table:
    tasks = list(dict.fromkeys(task for task, _ in cell_pairs))
    rows: list[list[CellValue]] = []
    for method in results.methods:
        if method != results.baseline:
            rows += _counted(
                f"{method} against {results.baseline}", tasks, cell_pairs, [(method, results.baseline)]
            )
    present = [method for method in results.methods if any((task, method) in cell_pairs for task in tasks)]
    rows += _counted("every pair of methods", tasks, cell_pairs, list(combinations(present, 2)))
    return Table(
        "paper-agreement",
        "In how many cells the order agrees",
        "One row for each comparison: the pairs of cells that both tables have, how many are in the same "
        "order, and their share.",
        ("comparison", "cells", "same_order", "share"),
        rows,
    )


def _counted(
    name: str,
    tasks: list[str],
    cell_pairs: CellPairs,
    pairs: list[tuple[str, str]],
) -> list[list[CellValue]]:
    agreements = [
        order(cell_pairs[task, first][0], cell_pairs[task, second][0])
        == order(cell_pairs[task, first][1], cell_pairs[task, second][1])
        for task in tasks
        for first, second in pairs
        if (task, first) in cell_pairs and (task, second) in cell_pairs
    ]
    return [[name, len(agreements), sum(agreements), sum(agreements) / len(agreements)]] if agreements else []
