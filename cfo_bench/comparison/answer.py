"""The result of a comparison, and the sentence that reports it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cfo_bench.metrics import METRIC_NAMES, METRICS
from cfo_bench.report.contents import plural
from cfo_bench.report.numbers.significance import LEVEL, Estimate, too_few


@dataclass(frozen=True, slots=True)
class Candidate:
    """A learner tuned by a method."""

    learner: str
    method: str
    score: Estimate  # in the metric of the task

    @property
    def name(self) -> str:
        return f"{self.learner} tuned by {self.method}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of `compare`: the candidates, the best first, with references and tests."""

    task: str
    metric: str
    by_test: bool  # scores are on rows that no method has seen
    candidates: Sequence[Candidate]
    constant: float | None  # scores over the same folds; None: it has no result
    forest: float | None
    forest_folds: int  # the number of folds on which the forest was done in time
    best_beside_forest: float | None  # the score of the best on those
    p_forest: float | None  # of the test that best and forest are equal
    p_second: float | None  # of the test that best and second are equal, corrected for all pairs
    can_show: bool  # whether a difference can be significant with this number of folds
    folds: int
    budget_seconds: float  # of each run
    elapsed_seconds: float  # of all
    best_command: str
    results: Path

    @property
    def sentence(self) -> str:
        """Which is best, by how much, whether that is significant, and the command for its model."""
        best, name = self.candidates[0], METRIC_NAMES[self.metric]
        kind = "test" if self.by_test else "validation"
        over = f"mean of {plural(self.folds, 'fold')}"
        if best.score.low is not None:
            over += f", 95 % interval {best.score.low:.4f} to {best.score.high:.4f}"
        return " ".join(
            [
                f"Best: {best.name}, {kind} {name} {best.score.mean:.4f} ({over}).",
                self._constant(),
                self._forest(),
                self._lead(),
                f"The command for its model: {self.best_command}",
            ]
        )

    def _constant(self) -> str:
        if self.constant is None:
            return "The constant predictor was not done in time."
        return f"A constant predictor has {self.constant:.4f}."

    def _forest(self) -> str:
        if self.forest is None or self.best_beside_forest is None or self.p_forest is None:
            return "The random forest was not done in time."
        text = f"A random forest has {self.forest:.4f}"
        if self.forest_folds < self.folds:
            text += f" on the {plural(self.forest_folds, 'fold')} that it was done on, where the best has "
            text += f"{self.best_beside_forest:.4f}"
        is_better = self._is_better(self.best_beside_forest, self.forest)
        p = f"(p = {self.p_forest:.2g})"
        if self.p_forest >= LEVEL:
            comparison = "worse" if is_better else "no worse"
            return f"{text}, which is {comparison}; the difference is not significant {p}."
        if is_better:
            return f"{text}: the best is significantly better {p}."
        return f"{text}: the forest is significantly better {p}, so try --learner random-forest."

    def _is_better(self, score: float, other: float) -> bool:
        to_loss = METRICS[self.metric].to_loss
        return to_loss(score) < to_loss(other)

    def _lead(self) -> str:
        if len(self.candidates) < 2 or self.p_second is None:
            return "Nothing else was compared."
        second = self.candidates[1]
        lead = f"Its lead over {second.name} ({second.score.mean:.4f}) is"
        if not self.can_show:
            return f"{lead} not significant: {too_few(self.folds, 'fold')}, so give more time with --for."
        if self.p_second >= LEVEL:
            return f"{lead} not significant (p = {self.p_second:.2g}): choose either."
        return f"{lead} significant (p = {self.p_second:.2g})."
