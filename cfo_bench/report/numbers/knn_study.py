"""What a study of the number of neighbours K says of the paper's Condition 2.

The condition says that near an optimum, where the cost is above the optimum's, the loss does not decrease
while the cost increases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from cfo_bench.errors import TraceError
from cfo_bench.results.trace import Trace

# From this rank correlation of loss and seconds on, the text says that they rise together.
MODERATE = 0.5


@dataclass(frozen=True, slots=True)
class Findings:
    """What a study says of Condition 2.

    `rises_from` is the smallest K, from `best_k` on, after which the loss never decreases; None if it
    decreases up to the end. The loss is smoothed for this, by the median of five neighbours.
    `rank_correlation` is Spearman's, of loss and seconds from `rises_from` on. It says little on a busy
    machine.
    """

    best_k: int
    best_loss: float
    best_seconds: float
    last_k: int
    rises_from: int | None
    rank_correlation: float | None

    def __str__(self) -> str:
        lowest = (
            f"the loss is lowest at K = {self.best_k}: {self.best_loss:.5f}, for {self.best_seconds:.3g} s"
        )
        if self.best_k == self.last_k:
            return f"{lowest}, the largest K of the study: go further to see it rise"
        if self.rises_from is None:
            return f"{lowest}; up to K = {self.last_k} it does not rise for good"
        rises = f"{lowest}; from K = {self.rises_from} on it rises"
        if self.rank_correlation is None:
            return rises
        together = "with the cost" if self.rank_correlation > MODERATE else "while the cost goes its own way"
        return f"{rises} {together} (rank correlation {self.rank_correlation:.2f})"


def points(trace: Trace) -> list[tuple[int, float, float]]:
    """(K, loss, cost) of the trials that have a loss, by K; the cost is the paper's, fit and validation."""
    found = sorted(
        (trial.config["k"], trial.loss, trial.fit_seconds + trial.validate_seconds)
        for trial in trace.trials
        if trial.loss is not None
    )
    if not found:
        raise TraceError("no trial of the study has a loss: its trace says why; use --force to run it again")
    return found


def findings(trace: Trace) -> Findings:
    ks, losses, costs = (list(values) for values in zip(*points(trace), strict=True))
    best = losses.index(min(losses))
    smooth = [median(losses[max(0, i - 2) : i + 3]) for i in range(len(losses))]
    start: int | None = len(smooth) - 1
    while start and start > best and smooth[start - 1] <= smooth[start]:
        start -= 1
    if start == len(smooth) - 1:
        start = None
    return Findings(
        best_k=ks[best],
        best_loss=losses[best],
        best_seconds=costs[best],
        last_k=ks[-1],
        rises_from=None if start is None else ks[start],
        rank_correlation=None if start is None else _rank_correlation(losses[start:], costs[start:]),
    )


def _rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's; None where one of them is constant."""
    from scipy.stats import spearmanr

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(spearmanr(first, second).statistic)
