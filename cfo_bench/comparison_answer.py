"""What a comparison came to, and the sentence that says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cfo_bench.metrics import METRICS
from cfo_bench.report.numbers.estimates import Estimate
from cfo_bench.report.numbers.metric_names import METRIC_NAMES
from cfo_bench.report.numbers.significance import LEVEL


@dataclass(frozen=True, slots=True)
class Candidate:
    """A learner tuned by a method."""

    learner: str
    method: str
    score: Estimate  # in the metric of the task

    @property
    def name(self) -> str:
        return f"{self.method} tuning {self.learner}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of it; `candidates` from the best on."""

    task: str
    metric: str
    by_test: bool  # scores are on rows that no method has seen
    candidates: Sequence[Candidate]
    constant: float | None  # scores over the same folds; None: it has no result
    forest: float | None
    forest_folds: int  # on how many of the folds the forest was done in time
    p_forest: float | None  # of the test that best and forest are equal
    p_second: float | None  # of the test that best and second are equal, corrected for all pairs
    can_show: bool  # whether so many folds can show a difference at all
    folds: int
    budget_seconds: float  # of each run
    elapsed_seconds: float  # of all
    best_command: str
    results: Path

    @property
    def sentence(self) -> str:
        """Who is best, by how much, whether that is shown, and what to type next."""
        best, name = self.candidates[0], METRIC_NAMES[self.metric]
        interval = "" if best.score.low is None else f" [{best.score.low:.4f}, {best.score.high:.4f}]"
        kind = "test" if self.by_test else "validation"
        over = f"mean of {self.folds} fold{'s' * (self.folds != 1)}"
        over += ", 95 % interval" if interval else ""
        return " ".join(
            [
                f"{best.name} is best: {kind} {name} {best.score.mean:.4f}{interval} ({over}), "
                f"{self._against()}.",
                self._lead(),
                f"The model: {self.best_command}",
            ]
        )

    def _against(self) -> str:
        constant = "" if self.constant is None else f"a constant has {self.constant:.4f}"
        if self.forest is None:
            return f"{constant or 'a constant was not done'}, the forest was not done in time"
        forest = f"a tuned forest {self.forest:.4f}"
        if self.forest_folds < self.folds:
            forest += f" (on {self.forest_folds} of the folds)"
        if self.p_forest is not None:
            better = self._is_better(self.candidates[0].score.mean, self.forest)
            shown = (
                ("which it beats" if better else "which beats it")
                if self.p_forest < LEVEL
                else "from which it is not shown to differ"
            )
            forest += f", {shown} (p = {self.p_forest:.2g})"
        return f"{constant}, {forest}" if constant else forest

    def _is_better(self, one: float, other: float) -> bool:
        return METRICS[self.metric].to_loss(one) < METRICS[self.metric].to_loss(other)

    def _lead(self) -> str:
        if len(self.candidates) < 2 or self.p_second is None:
            return "Nothing else was compared."
        second = self.candidates[1]
        over = f"Its lead over {second.name} ({second.score.mean:.4f})"
        if not self.can_show:
            return f"{over} can't be shown on {self.folds} fold{'s' * (self.folds != 1)}: give more time."
        if self.p_second >= LEVEL:
            return f"{over} is not shown (p = {self.p_second:.2g}): either will do."
        return f"{over} is shown (p = {self.p_second:.2g})."
