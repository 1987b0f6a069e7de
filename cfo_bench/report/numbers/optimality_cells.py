"""The optimality table of a task as in the paper, and scores in percent of the baseline's."""

from __future__ import annotations

from dataclasses import dataclass

from cfo_bench.report.numbers.scores import LEAST_SECONDS, MethodScores, TaskScores


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the optimality table, as numbers and as the paper prints it."""

    task: str
    method: str
    outcome: str  # best, slower, worse, missing (no result) or left out
    score: float | None  # scaled; of the best, the task's best score, which a method that ties may miss a bit
    seconds: float | None
    cost_ratio: float | None  # its time to the best score over the least; None if that is too short
    gap_percent: float | None  # how far it ends below the best score; None if that is 0

    @property
    def text(self) -> str:
        if self.outcome == "best":
            return f"**{self.score:.4f} ({_seconds(self.seconds or 0.0)}s)**"
        if self.outcome == "slower":
            return "slower" if self.cost_ratio is None else f"×{self.cost_ratio:.1f}"
        if self.outcome == "missing":
            return "no result"
        if self.outcome == "left out":
            return "left out"
        return "worse" if self.gap_percent is None else f"-{self.gap_percent:.1f}%"


def _seconds(value: float) -> str:
    """Whole seconds, as in the paper; two digits for less than ten seconds."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def optimality(scores: TaskScores) -> list[Cell]:
    """best: reaches the best score first, or ties; slower: reaches it later; worse: does not reach it."""
    return [_cell(scores, found) for found in scores.methods.values()]


def _cell(scores: TaskScores, found: MethodScores) -> Cell:
    seconds, least = found.seconds_to_best, scores.best_seconds
    outcome, ratio, gap = "worse", None, None
    if not found.is_compared:
        outcome = "left out"
    elif found.method in scores.leaders:
        outcome, ratio, gap = "best", 1.0, 0.0
    elif seconds is not None:
        outcome, gap = "slower", 0.0
        ratio = seconds / least if least and least >= LEAST_SECONDS else None
    else:
        outcome = "missing" if found.final_score is None else "worse"
        if found.counted_score is not None and scores.best_score:
            gap = 100 * (scores.best_score - found.counted_score) / abs(scores.best_score)
    score = scores.best_score if outcome == "best" else found.final_score
    return Cell(scores.task, found.method, outcome, score, seconds, ratio, gap)


def normalised(scores: TaskScores, baseline: str) -> dict[str, float]:
    """100 × scaled score / the baseline's, for every method that is compared.

    Empty if the baseline's score is not above 0: then the ratio means nothing.
    """
    base = scores.methods.get(baseline)
    if base is None or base.final_score is None or base.final_score <= 0:
        return {}
    return {
        method: 100 * found.counted_score / base.final_score
        for method, found in scores.methods.items()
        if found.counted_score is not None
    }
