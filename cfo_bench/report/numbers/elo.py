"""Wins of each method against each other method over tasks: win rates, and the Elo ratings that fit best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.numbers.significance import FEWEST_TASKS, are_equal

ELO_RESAMPLES = 1000
# The rating of the anchor.
ANCHOR = 1000.0
# A method with a rating higher by this much wins ten times as often as it loses.
_ELO_OF_TEN = 400.0

# The fit ends when no strength changes by more than this share.
_CLOSE_ENOUGH = 1e-9
_MOST_STEPS = 200


@dataclass(frozen=True, slots=True)
class Rating:
    """A method's Elo. `low` and `high` bound a 95 % bootstrap interval over tasks.

    They are None if it has fewer than FEWEST_TASKS tasks, and for the anchor, which is fixed.
    """

    method: str
    tasks: int  # the number of tasks on which it is compared with another method
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
    row, column = scores[:, None], scores[None, :]
    wins = np.where(are_equal(row, column), 0.5, (row > column).astype(float))
    not_compared = np.isnan(scores)
    wins[not_compared] = wins[:, not_compared] = np.nan
    return wins


def _score(task: TaskScores, method: str) -> float:
    scores = task.methods.get(method)
    if scores is None or not scores.is_compared:
        return np.nan
    return -np.inf if scores.final_score is None else scores.final_score


def win_rates(wins: Array) -> Array:
    """The mean over the tasks on which both methods of a pair are compared; NaN if there are none."""
    n_tasks = (~np.isnan(wins)).sum(axis=0)
    rates: Array = np.where(n_tasks > 0, np.nansum(wins, axis=0) / np.maximum(n_tasks, 1), np.nan)
    return rates


def ratings(wins: Array, methods: Sequence[str], anchor: str) -> list[Rating]:
    """Elo ratings of a Bradley–Terry model. The rating of the anchor, or the mean without it, is ANCHOR."""
    at = methods.index(anchor) if anchor in methods else None
    strengths = bradley_terry(np.nansum(wins, axis=0))
    elo = _anchored(strengths, at)
    tasks = ((~np.isnan(wins)).sum(axis=2) > 1).sum(axis=0)  # a method is also compared with itself
    low: list[float | None] = [None] * len(methods)
    high = list(low)
    if len(wins) >= FEWEST_TASKS:
        draws = np.random.default_rng(len(wins)).integers(len(wins), size=(ELO_RESAMPLES, len(wins)))
        counts = np.array([np.bincount(draw, minlength=len(wins)) for draw in draws], dtype=float)
        sums = np.tensordot(counts, np.nan_to_num(wins), axes=1)
        bounds = np.quantile(_anchored(bradley_terry(sums, strengths), at), (0.025, 0.975), axis=0).tolist()
        low, high = (
            [None if i == at or tasks[i] < FEWEST_TASKS else value for i, value in enumerate(row)]
            for row in bounds
        )
    return [Rating(method, int(tasks[i]), float(elo[i]), low[i], high[i]) for i, method in enumerate(methods)]


def _anchored(strengths: Array, at: int | None) -> Array:
    elo = _ELO_OF_TEN * np.log10(strengths)
    zero = elo.mean(axis=-1) if at is None else elo[..., at]
    anchored: Array = elo - zero[..., None] + ANCHOR
    return anchored


def bradley_terry(wins: Array, start: Array | None = None) -> Array:
    """The strengths that maximise the likelihood of the wins: i beats j with probability s_i / (s_i + s_j).

    The last two axes of `wins` are the wins of row against column; the other axes are separate problems. One
    tie is added for each pair, because otherwise a method that always wins would be infinitely strong. The
    result does not depend on the start; a close start needs fewer steps.
    """
    *shape, n, _ = wins.shape
    wins = ((wins + 0.5) * (1 - np.eye(n))).reshape(-1, n, n)
    games, won = wins + np.swapaxes(wins, -1, -2), wins.sum(axis=-1)
    logs = np.array(np.broadcast_to(0.0 if start is None else np.log(start), won.shape))
    left = np.arange(len(logs))  # the problems that are not solved yet
    for _ in range(_MOST_STEPS):  # Newton's method on the logarithms, in which the likelihood is concave
        expected = games[left] / (1 + np.exp(logs[left][:, None, :] - logs[left][:, :, None]))
        curvature = expected * np.swapaxes(expected, -1, -2) / np.maximum(games[left], 1)
        # Only differences of logarithms matter: without `1 / n`, any number could be added to all of them.
        system = np.eye(n) * curvature.sum(axis=-1)[:, :, None] - curvature + 1 / n
        step = np.linalg.solve(system, (won[left] - expected.sum(axis=-1))[:, :, None])[:, :, 0]
        size = np.abs(step).max(axis=-1, initial=0.0)
        logs[left] += step / np.maximum(size, 1.0)[:, None]  # a longer step may diverge
        left = left[size >= _CLOSE_ENOUGH]
        if not len(left):
            break
    strengths: Array = np.exp(logs - logs.mean(axis=-1, keepdims=True)).reshape((*shape, n))
    return strengths
