"""Who wins against whom, over tasks: win rates, and the Elo ratings that explain them best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.numbers.significance import FEWEST_TASKS, are_equal

RESAMPLES = 1000
# The rating of the method that the others are measured against.
ANCHOR = 1000.0
# A rating this much higher wins ten times as often as it loses.
_ELO_OF_TEN = 400.0

# The fit ends when no strength changes by more than this share; 1e-5 is 0.002 Elo.
_CLOSE_ENOUGH = 1e-5
_MOST_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class Rating:
    """A method's Elo. `low` and `high` bound a 95 % bootstrap interval over tasks.

    They are None if there are fewer than FEWEST_TASKS tasks, and for the anchor, which is fixed.
    """

    method: str
    elo: float
    low: float | None
    high: float | None


def wins_by_task(tasks: Sequence[TaskScores], methods: Sequence[str]) -> Array:
    """For each task, 1 where the method of the row beats that of the column, ½ for a tie, 0 for a defeat.

    NaN where one of the two is not compared. A method without a result loses against all that have one.
    """
    return np.array([_wins(task, methods) for task in tasks])


def _wins(task: TaskScores, methods: Sequence[str]) -> Array:
    scores = np.array([_score(task, method) for method in methods])
    one, other = scores[:, None], scores[None, :]
    wins = np.where(are_equal(one, other), 0.5, (one > other).astype(float))
    not_compared = np.isnan(scores)
    wins[not_compared] = wins[:, not_compared] = np.nan
    return wins


def _score(task: TaskScores, method: str) -> float:
    found = task.methods.get(method)
    if found is None or not found.is_compared:
        return np.nan
    return -np.inf if found.final_score is None else found.final_score


def win_rates(wins: Array) -> Array:
    """The mean over the tasks on which both methods of a pair are compared; NaN if there is none."""
    there = (~np.isnan(wins)).sum(axis=0)
    rates: Array = np.where(there > 0, np.nansum(wins, axis=0) / np.maximum(there, 1), np.nan)
    return rates


def ratings(wins: Array, methods: Sequence[str], anchor: str) -> list[Rating]:
    """Elo ratings of a Bradley–Terry model, the highest first; the anchor, or else the mean, has ANCHOR."""
    at = methods.index(anchor) if anchor in methods else None
    strengths = bradley_terry(np.nansum(wins, axis=0))
    elo = _anchored(strengths, at)
    low: list[float | None] = [None] * len(methods)
    high = list(low)
    if len(wins) >= FEWEST_TASKS:
        draws = np.random.default_rng(len(wins)).integers(len(wins), size=(RESAMPLES, len(wins)))
        counts = np.array([np.bincount(draw, minlength=len(wins)) for draw in draws], dtype=float)
        sums = np.tensordot(counts, np.nan_to_num(wins), axes=1)
        bounds = np.quantile(_anchored(bradley_terry(sums, strengths), at), (0.025, 0.975), axis=0).tolist()
        low, high = ([None if i == at else value for i, value in enumerate(row)] for row in bounds)
    found = [Rating(method, float(elo[i]), low[i], high[i]) for i, method in enumerate(methods)]
    return sorted(found, key=lambda one: (-one.elo, one.method))


def _anchored(strengths: Array, at: int | None) -> Array:
    elo = _ELO_OF_TEN * np.log10(strengths)
    zero = elo.mean(axis=-1) if at is None else elo[..., at]
    anchored: Array = elo - zero[..., None] + ANCHOR
    return anchored


def bradley_terry(wins: Array, start: Array | None = None) -> Array:
    """The strengths that make the wins most likely: i beats j with probability s_i / (s_i + s_j).

    `wins` has the wins of row against column in its last two axes; all before are separate problems. One
    tie is added for each pair: without it, a method that wins every time would be infinitely strong.
    The result is the same from every start; one that is close takes fewer steps.
    """
    n = wins.shape[-1]
    wins = (wins + 0.5) * (1 - np.eye(n))
    games = wins + np.swapaxes(wins, -1, -2)
    own = wins.sum(axis=-1)
    strengths = np.array(np.broadcast_to(1.0 if start is None else start, own.shape))
    flat, games, own = strengths.reshape(-1, n), games.reshape(-1, n, n), own.reshape(-1, n)
    left = np.arange(len(flat))  # the problems that are not solved yet
    for _ in range(_MOST_STEPS):  # Hunter's MM algorithm (2004): every step raises the likelihood
        before = flat[left]
        sums = before[:, :, None] + before[:, None, :]
        raised = own[left] / (games[left] / sums).sum(axis=-1)
        raised /= np.exp(np.log(raised).mean(axis=-1, keepdims=True))
        flat[left] = raised
        left = left[np.abs(np.log(raised / before)).max(axis=-1, initial=0.0) >= _CLOSE_ENOUGH]
        if not len(left):
            break
    return strengths
