"""Published results compared with ours: the paper's optimality tables, published scores, and the study of K.

The numbers of the tables are part of the package: `paper_xgboost.csv` (one hour, ten folds) and
`paper_dnn.csv` (two hours, five folds). A cell is behind another one if its score ends further below the
best, or if both reach the best and it takes longer.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from statistics import median
from typing import Any

from cfo_bench.errors import TraceError
from cfo_bench.report.numbers.scores import Cell, TaskScores
from cfo_bench.report.reading.published_scores import SCALED, Reference
from cfo_bench.results.run import Run

# The budget of a run in the paper in seconds, by learner.
BUDGETS = {"xgboost": 3600.0, "dnn": 7200.0}

# Recorded learners, and the learner of the paper that they are compared with: the same kind of model, with
# another space and metric.
_RECORDED = {"yahpo:rbv2_xgboost": "xgboost", "hpobench-mlp": "dnn"}

# Other names of the paper's tasks, as `key` returns them.
_ALIASES = {
    "amazon": "amazonemployee",
    "amazonemployeeaccess": "amazonemployee",
    "bank": "bankmarketing",
    "blood": "bloodtransfusion",
    "bloodtransfusionservicecenter": "bloodtransfusion",
    "jungle": "junglechess2pcs",
    "junglechess2pcsrawendgamecomplete": "junglechess2pcs",
    "kddcup09": "kddcup09appe",
    "kddcup09appetency": "kddcup09appe",
    "mfeat": "mfeatfactors",
    "numerai28": "numerai286",
    "2dplanes": "2dplane",
    **{short: f"bng{short}" for short in ("lowbwt", "pbc", "pharynx", "pwlinear")},
    "echomonth": "bngechomonths",
    "breast": "bngbreasttumor",
}


def in_the_paper(learner: str) -> str:
    """The learner of the paper to compare with: another one for a recording or surrogate, else the same."""
    return _RECORDED.get(learner, learner.removeprefix("surrogate:"))


def printed(learner: str) -> dict[tuple[str, str], Cell]:
    """The paper's cells by the key of the task and the method; empty for a learner that it did not tune."""
    if learner not in BUDGETS:
        return {}
    text = files("cfo_bench.report.numbers").joinpath(f"paper_{learner}.csv").read_text(encoding="utf-8")
    return {(key(row["task"]), row["method"]): _cell(row) for row in csv.DictReader(text.splitlines())}


def key(task: str) -> str:
    """A text that is the same for all names of a task: without capitals, signs and PMLB's number."""
    bare = re.sub(r"[^a-z0-9]", "", re.sub(r"^\d+_", "", task.lower()))
    return _ALIASES.get(bare, bare)


def order(cell: Cell, other: Cell) -> int:
    """1 if `cell` is behind `other`, -1 if it is ahead, 0 if they don't differ."""
    place, other_place = _place(cell), _place(other)
    return (place > other_place) - (place < other_place)


def _place(cell: Cell) -> tuple[float, float]:
    """A sort key, rounded like the printed cells."""
    if cell.outcome == "worse":
        return (round(cell.gap_percent or 0.0, 1), 0.0)
    return (0.0, round(cell.cost_ratio or 1.0, 1) + (cell.outcome == "slower") * 1e-6)


def _cell(row: Mapping[str, str]) -> Cell:
    score, seconds, gap, ratio = (
        float(row[name]) if row[name] else None for name in ("score", "seconds", "gap_percent", "cost_ratio")
    )
    if row["outcome"] == "best":
        gap, ratio = 0.0, 1.0
    return Cell(row["task"], row["method"], row["outcome"], score, seconds, ratio, gap)


# --- published scores of others -------------------------------------------------------------------


# Scaled scores are comparable with the paper's if a score of 1 is this.
_FOREST_SCALE = "tuned random forest"

# Names of tasks with this similarity (1: equal) may be the same task with a mistake in its name.
_ALIKE = 0.85


@dataclass(frozen=True, slots=True)
class PlacedReference:
    """A published score of a task, in the metric of the task if it can be compared."""

    reference: Reference
    score: float | None  # in the metric of the task; None if it can't be compared
    note: str  # the averaged folds, the conversion of the score, or the reason why it can't be compared
    is_converted: bool = False  # from a scaled score, by our own constant predictor and forest

    @property
    def label(self) -> str:
        """Its name in a figure, which marks a converted score as approximate."""
        return f"{'≈ ' * self.is_converted}{self.reference.label}"


def placed(references: Sequence[Reference], task: TaskScores) -> list[PlacedReference]:
    """The references of a task: comparable, then converted, then other ones; the best first in each group.

    Alternative names of a task match, such as `bank` and `bank_marketing`. References of other learners are
    left out.
    """
    to_loss = task.metric_facts.to_loss

    def order_key(placed: PlacedReference) -> tuple[Any, ...]:
        loss = to_loss(placed.score or 0.0)
        return placed.score is None, placed.is_converted, loss, placed.reference.label

    of_task = [_placed(reference, task) for reference in references if _is_of(reference, task)]
    return sorted(of_task, key=order_key)


def _is_of(reference: Reference, task: TaskScores) -> bool:
    return key(reference.task) == key(task.task) and reference.learner in ("", task.learner)


def _placed(reference: Reference, task: TaskScores) -> PlacedReference:
    note = f"its metric is {reference.metric}, that of the task {task.metric}"
    score, is_converted = None, False
    if reference.metric == task.metric:
        score, note = reference.score, ""
    elif reference.metric == SCALED and task.metric != "r2":
        is_converted = task.scale.by == _FOREST_SCALE
        score = task.metric_facts.to_score(task.scale.loss(reference.score)) if is_converted else None
        note = (
            "converted from a scaled score with the constant predictor and forest of these runs"
            if is_converted
            else "a scaled score, and tuned-rf has no result on all folds, or does not beat the constant "
            "predictor"
        )
    return PlacedReference(reference, score, "; ".join(filter(None, (reference.folds, note))), is_converted)


def misspelt(references: Sequence[Reference], tasks: Sequence[TaskScores]) -> list[tuple[str, str]]:
    """Unknown tasks of references, each with the known task that may be meant."""
    ours = {key(task.task): task.task for task in tasks}
    meant = {}
    for name in dict.fromkeys(reference.task for reference in references):
        near = get_close_matches(key(name), ours, n=1, cutoff=_ALIKE) if key(name) not in ours else []
        # `house_8L` and `house_16H` are different tasks.
        if near and _digits(key(name)) == _digits(near[0]):
            meant[name] = ours[near[0]]
    return list(meant.items())


def _digits(name: str) -> list[str]:
    return re.findall(r"\d", name)


# --- the study of K, the number of neighbours -----------------------------------------------------
#
# The paper's Condition 2: near an optimum, where the cost is above the optimum's, the loss does not decrease
# while the cost increases.


# The rank correlation of loss and seconds from which on the text states that they rise together.
MODERATE = 0.5


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of a study on Condition 2.

    `rises_from` is the smallest K, from `best_k` on, after which the loss never decreases; None if it
    decreases up to the end. The loss is smoothed for this, by the median of five neighbours.
    `rank_correlation` is Spearman's, of loss and seconds from `rises_from` on. It means little on a busy
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
        together = " with the cost" if self.rank_correlation > MODERATE else ", but not with the cost"
        return f"{rises}{together} (rank correlation {self.rank_correlation:.2f})"


def points(run: Run) -> list[tuple[int, float, float]]:
    """(K, loss, cost) of the trials that have a loss, by K; the cost is the paper's, fit and validation."""
    measured = sorted(
        (int(trial.config["k"] or 0), trial.loss, trial.seconds)
        for trial in run.trials
        if trial.loss is not None
    )
    if not measured:
        raise TraceError("no trial of the study has a loss: see its trace; use --force to run it again")
    return measured


def findings(run: Run) -> Findings:
    ks, losses, costs = (list(values) for values in zip(*points(run), strict=True))
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
    """Spearman's rank correlation; None if one of the two is constant."""
    from scipy.stats import spearmanr

    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(spearmanr(first, second).statistic)
