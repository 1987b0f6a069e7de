"""Our optimality table beside the paper's: are the methods in the same order?"""

from __future__ import annotations

from itertools import combinations

from cfo_bench.report.contents import CellValue, Section, Table
from cfo_bench.report.looks import look
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.paper_tables import BUDGETS, in_the_paper, key, order, printed
from cfo_bench.report.numbers.scores import Cell

_WORDS = {1: "behind", 0: "equal", -1: "ahead"}


def section(results: LearnerResults) -> Section | None:
    """None if the paper has none of these learners, tasks or methods."""
    learner = in_the_paper(results.learner)
    theirs = printed(learner)
    named = _paper_names(results)
    both = {
        (task, method): (theirs[key(named[task]), method], cell)
        for (task, method), cell in results.cells.items()
        if (key(named[task]), method) in theirs and cell.outcome not in ("missing", "left out")
    }
    if not both:
        return None
    cells = _side_by_side(results, both)
    base = look(results.baseline).label
    budgets = sorted({task.budget_seconds for task in results.scores})
    return Section(
        "paper",
        "Beside the paper's table",
        f"The paper's cells and ours, side by side. {_recorded(results, learner)}The paper gave a run "
        f"{BUDGETS[learner]:g} s "
        "on its machines, ours had "
        f"{' to '.join(f'{b:g}' for b in dict.fromkeys((budgets[0], budgets[-1])))} s here: orders can be "
        f"compared, seconds can't. Ahead and behind mean: of {base} on the same task.",
        tables=(_agreement(results, both), cells),
        warnings=()
        if any(method == results.baseline for _, method in both)
        else (f"{results.baseline} is not in the paper's table, or has no result: no order against it",),
    )


def _paper_names(results: LearnerResults) -> dict[str, str]:
    """What the paper calls each task: a recording says which of the paper's data it is of."""
    return {one.task: one.header.data.paper_task or one.task for one in results.runs}


def _recorded(results: LearnerResults, learner: str) -> str:
    if learner == results.learner:
        return ""
    return (
        f"Ours are of a recording of {results.learner}, theirs of {learner}: the same data and kind of "
        "model, but another space, and for some tasks another loss. "
    )


def _side_by_side(results: LearnerResults, both: dict[tuple[str, str], tuple[Cell, Cell]]) -> Table:
    rows: list[list[CellValue]] = []
    for task in results.scores:
        base = both.get((task.task, results.baseline))
        for method in results.methods:
            if (task.task, method) not in both:
                continue
            theirs, ours = both[task.task, method]
            signs: list[CellValue] = [None] * 3
            if base is not None and method != results.baseline:
                paper, own = order(theirs, base[0]), order(ours, base[1])
                signs = [_WORDS[paper], _WORDS[own], paper == own]
            rows.append([task.task, method, theirs.text, ours.text, *signs])
    return Table(
        "paper-cells",
        "The paper's cells and ours",
        f"One row for each task and method: both cells, how the method stands against {results.baseline} "
        "on the task in the paper and here, and whether that is the same.",
        ("task", "method", "paper", "ours", "paper_order", "our_order", "same"),
        rows,
    )


def _agreement(results: LearnerResults, both: dict[tuple[str, str], tuple[Cell, Cell]]) -> Table:
    tasks = list(dict.fromkeys(task for task, _ in both))
    rows: list[list[CellValue]] = []
    for method in results.methods:
        if method != results.baseline:
            rows += _counted(
                f"{method} against {results.baseline}", tasks, both, [(method, results.baseline)]
            )
    present = [method for method in results.methods if any((task, method) in both for task in tasks)]
    rows += _counted("every pair of methods", tasks, both, list(combinations(present, 2)))
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
    both: dict[tuple[str, str], tuple[Cell, Cell]],
    pairs: list[tuple[str, str]],
) -> list[list[CellValue]]:
    found = [
        order(both[task, one][0], both[task, other][0]) == order(both[task, one][1], both[task, other][1])
        for task in tasks
        for one, other in pairs
        if (task, one) in both and (task, other) in both
    ]
    return [[name, len(found), sum(found), sum(found) / len(found)]] if found else []
