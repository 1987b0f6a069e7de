"""Which runs may be compared: those made with the same settings. Others are left out, with a warning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from cfo_bench.report.reading.digest import Digest, State


@dataclass(frozen=True, slots=True)
class Comparable:
    """The finished runs that may be compared, and a warning for all that is left out."""

    digests: list[Digest]
    warnings: list[str]


# What all runs of a task with one learner must have in common: its name, and where it is found.
_ALIKE: tuple[tuple[str, Callable[[Digest], Any]], ...] = (
    ("budgets (seconds)", lambda one: one.budget_seconds),
    ("clocks", lambda one: one.header["spec"].get("clock", "wall")),
    ("ways of validation", lambda one: one.header["spec"].get("validation", "fold")),
    ("holdout shares", lambda one: _holdout_share(one)),
    ("versions of the data (SHA-256)", lambda one: str(one.header["data"].get("sha256"))[:12]),
    ("numbers of folds", lambda one: one.header["spec"].get("n_folds", 10)),
    ("metrics", lambda one: one.metric),
    ("trials at once", lambda one: one.header["spec"].get("parallel", 1)),
    ("threads", lambda one: one.header["spec"].get("threads", 1)),
    ("options of the learner", lambda one: _as_text(one.header["spec"].get("learner_options", {}))),
)


def comparable(digests: Sequence[Digest]) -> Comparable:
    """Leaves out unfinished runs, and whole tasks whose runs differ in their settings."""
    warnings = []
    groups: dict[tuple[str, str], list[Digest]] = {}
    for one in digests:
        groups.setdefault((one.learner, one.task), []).append(one)
    kept: list[Digest] = []
    for (learner, task), runs in groups.items():
        problem = _difference(runs)
        if problem:
            warnings.append(
                f"task {task!r} with {learner} is left out: {problem}: keep those in a --results of their own"
            )
        else:
            kept += runs
    done = [one for one in kept if one.state is State.DONE]
    return Comparable(done, warnings + _left_out(kept) + _limits(done))


def _difference(runs: Sequence[Digest]) -> str | None:
    """Why these runs can't be compared, with the number of runs on each side; None if they can."""
    for what, of in _ALIKE:
        counts = Counter(map(of, runs))
        if len(counts) > 1:
            sides = " and ".join(f"{value} ({n} runs)" for value, n in sorted(counts.items(), key=str))
            return f"its runs have different {what}, {sides}"
    twice = Counter((one.method, one.fold, one.seed) for one in runs)
    (method, fold, seed), most = twice.most_common(1)[0]
    if most > 1:
        first, second, *_ = (
            one.path for one in runs if (one.method, one.fold, one.seed) == (method, fold, seed)
        )
        return f"{method}, fold {fold}, seed {seed} is there twice, in {first} and {second}"
    for method in sorted({one.method for one in runs}):
        options = {_as_text(one.header["spec"].get("options", {})) for one in runs if one.method == method}
        if len(options) > 1:
            return f"{method} was run with different options on different folds"
    return None


def _left_out(runs: Sequence[Digest]) -> list[str]:
    lines = []
    for state, what in (
        (State.FAILED, "failed"),
        (State.INTERRUPTED, "interrupted"),
        (State.UNFINISHED, "unfinished"),
    ):
        found = [one for one in runs if one.state is state]
        if found:
            first = found[0]
            reason = f": {first.error}" if first.error else ""
            lines.append(
                f"{len(found)} {what} run{'s' * (len(found) != 1)} left out, the first {first.task} "
                f"{first.method} fold {first.fold}{reason}; see cfo-bench status"
            )
    return lines


def _limits(runs: Sequence[Digest]) -> list[str]:
    """Warnings about settings that differ but don't forbid a comparison."""
    capped = Counter(one.header["spec"].get("max_trials") for one in runs)
    budgets = sorted({one.budget_seconds for one in runs})
    lines = []
    if len(capped) > 1:
        sides = ", ".join(f"{limit or 'none'} ({n} runs)" for limit, n in sorted(capped.items(), key=str))
        lines.append(f"runs have different --max-trials: {sides}")
    if len(budgets) > 1:
        lines.append(f"tasks have different budgets: {', '.join(f'{budget:g}' for budget in budgets)} s")
    return lines


def _holdout_share(one: Digest) -> float | None:
    spec = one.header["spec"]
    return spec.get("holdout_share") if spec.get("validation", "fold") == "holdout" else None


def _as_text(options: dict[str, Any]) -> str:
    return orjson.dumps(options, option=orjson.OPT_SORT_KEYS).decode()
