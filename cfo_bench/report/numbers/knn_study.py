"""Loss and cost against the number of neighbours: the paper's picture of its Condition 2.

The condition says that near an optimum, where the cost exceeds the optimum's, the loss does not
come down again while the cost goes up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from cfo_bench.errors import TraceError
from cfo_bench.metrics import METRICS
from cfo_bench.records import TrialRecord
from cfo_bench.results.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A rank correlation of loss and seconds from which on we say that they rise together.
MODERATE = 0.5

LOSS_COLOUR, COST_COLOUR = "tab:red", "tab:blue"


@dataclass(frozen=True, slots=True)
class Findings:
    """What a study says of Condition 2.

    `rises_from` is the smallest K from `best_k` on after which the loss never comes down again,
    taken as the median of five neighbouring ones since a single loss jitters; None when it still
    comes down at the end. `rank_correlation` is that of loss and seconds from there on (Spearman's):
    on a machine with other work to do the seconds say little.
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


def seconds(trial: TrialRecord) -> float:
    """The cost as the paper counts it: training and validation."""
    return trial.fit_seconds + trial.validate_seconds


def findings(trace: Trace) -> Findings:
    ks, losses, costs = _curve(trace)
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


def figure(trace: Trace) -> Figure:
    """Two axes over K: the loss in red on the left, the seconds in blue on the right."""
    from matplotlib.figure import Figure

    ks, losses, costs = _curve(trace)
    found, spec = findings(trace), trace.header["spec"]
    picture = Figure(figsize=(5, 3.5), layout="constrained")
    left = picture.subplots()
    right = left.twinx()
    left.plot(ks, losses, color=LOSS_COLOUR, marker="." if len(ks) < 40 else "")
    right.plot(ks, costs, color=COST_COLOUR, linewidth=0.8)
    left.axvline(found.best_k, color="0.7", linestyle=":", zorder=0)
    left.set_title(f"{spec['task']}, fold {spec['fold']}")
    left.set_xlabel("K, the number of neighbours")
    metric = METRICS[trace.header["metric"]]
    left.set_ylabel(f"validation loss, {'1 − ' * metric.higher_is_better}{metric.name}", color=LOSS_COLOUR)
    right.set_ylabel("training and validation, seconds", color=COST_COLOUR)
    right.set_ylim(bottom=0)
    return picture


def draw(trace: Trace, path: Path) -> list[Path]:
    """Writes the figure beside `path`, as PNG and as PDF."""
    files = [path.with_suffix(suffix) for suffix in (".png", ".pdf")]
    picture = figure(trace)
    for file in files:
        picture.savefig(file, dpi=150)
    return files


def _curve(trace: Trace) -> tuple[list[int], list[float], list[float]]:
    """K, loss and seconds of the trials that have a loss, by K."""
    points = sorted(
        (trial.config["k"], trial.loss, seconds(trial)) for trial in trace.trials if trial.loss is not None
    )
    if not points:
        raise TraceError("no trial of the study has a loss: its trace says why; use --force to run it again")
    ks, losses, costs = zip(*points, strict=True)
    return list(ks), list(losses), list(costs)


def _rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's; None where one of them is constant."""
    from scipy.stats import spearmanr

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(spearmanr(first, second).statistic)
