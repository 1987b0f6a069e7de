"""Which runs may be compared: those made with the same settings. Others are left out, with a warning.

Where the runs of a task differ in a setting, those that most of them share are kept: one stray run does not
take the task out of the report. The references, which scale the scores, have no say in it; they may have any
budget, but must have the other settings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from cfo_bench.registry import label
from cfo_bench.report.reading.digest import Digest, State, Steps
from cfo_bench.report.reading.imported import imported_clock, is_imported
from cfo_bench.report.reading.load import is_reference

# This many runs are named; the others are only counted.
_AT_MOST = 3


@dataclass(frozen=True, slots=True)
class Comparable:
    """The runs that may be compared, and a warning for all that is left out."""

    digests: list[Digest]
    warnings: list[str]


# What all runs of a task with one learner must have in common: its name, and where it is found.
_BUDGETS = "budgets (seconds)"
_ALIKE: tuple[tuple[str, Callable[[Digest], Any]], ...] = (
    (_BUDGETS, lambda one: one.budget_seconds),
    ("clocks", lambda one: _clock(one)),
    ("ways of validation", lambda one: one.header["spec"].get("validation", "fold")),
    ("holdout shares", lambda one: _holdout_share(one)),
    ("versions of the data (SHA-256)", lambda one: str(one.header["data"].get("sha256"))[:12]),
    ("numbers of folds", lambda one: one.header["spec"].get("n_folds", 10)),
    ("recordings", lambda one: one.header["data"].get("recording") or "none"),
    ("ways to charge the method", lambda one: _charge(one)),
    ("metrics", lambda one: one.metric),
    ("trials at once", lambda one: one.header["spec"].get("parallel", 1)),
    ("threads", lambda one: one.header["spec"].get("threads", 1)),
    ("options of the learner", lambda one: _as_text(one.header["spec"].get("learner_options", {}))),
)


def comparable(digests: Sequence[Digest], budget_seconds: float | None = None) -> Comparable:
    """Leaves out unfinished runs, and of each task those that differ from most in their settings.

    A run that failed stays, as a run without a result: a method must not gain by failing. With
    `budget_seconds`, runs with a shorter budget are left out.
    """
    least = budget_seconds or 0.0
    short = [one for one in digests if one.budget_seconds < least and not is_reference(one)]
    asked = [one for one in digests if one.budget_seconds >= least or is_reference(one)]
    ended = [one for one in asked if one.state in (State.DONE, State.FAILED)]
    warnings = _states(asked)
    if short:
        warnings.append(
            f"{len(short)} of {_runs(len(digests))} left out, as their budget is below {least:g} s: "
            f"the first is {short[0].task} {short[0].method} fold {short[0].fold}, with "
            f"{short[0].budget_seconds:g} s"
        )
    groups: dict[tuple[str, str], list[Digest]] = {}
    for one in ended:
        groups.setdefault((one.learner, one.task), []).append(one)
    kept: list[Digest] = []
    for (learner, task), runs in groups.items():
        alike, lines = _alike(runs)
        warnings += [f"task {task!r} with {learner}: {line}" for line in lines]
        kept += alike
    kept, lines = _one_clock(kept)
    warnings += lines
    if not any(one.state is State.DONE for one in kept) or _has_lost_methods(digests, kept):
        return Comparable([], warnings)
    return Comparable([_without_result(one) for one in kept], warnings + _limits(kept))


def _alike(runs: Sequence[Digest]) -> tuple[list[Digest], list[str]]:
    """The runs with the settings of most, and a line for each setting that leaves out others."""
    kept, lines = list(runs), []
    for what, of in _ALIKE:
        bound = [one for one in kept if what != _BUDGETS or not is_reference(one)]
        most, line = _majority(bound, what, of)
        kept = _without(kept, bound, most)
        lines += [line] if line else []
    for method in sorted({one.method for one in kept}):
        own = [one for one in kept if one.method == method]
        most, line = _majority(own, f"options of {method}", _kind)
        kept = _without(kept, own, most)
        lines += [line] if line else []
    if _has_lost_methods(runs, kept):
        return [], lines
    copies: dict[tuple[str, int, int], list[Digest]] = {}
    for one in kept:
        copies.setdefault((one.method, one.fold, one.seed), []).append(one)
    told = 0
    for (method, fold, seed), same in copies.items():
        if len(same) > 1:
            first, second, *_ = same
            is_same = all(replace(one, path=first.path) == first for one in same)
            gone = same[1:] if is_same else same
            kept = [one for one in kept if not any(one is other for other in gone)]
            what = "is counted once" if is_same else "is left out"
            told += is_same
            if is_same and told > _AT_MOST:  # whole folders may be copies
                continue
            lines.append(
                f"{method}, fold {fold}, seed {seed} is there {'twice' if len(same) == 2 else len(same)}, in "
                f"{first.path} and {second.path}: it {what}"
            )
    if told > _AT_MOST:
        lines.append(f"{told - _AT_MOST} more runs are there more than once: each is counted once")
    return kept, lines


def _majority(
    runs: Sequence[Digest], what: str, of: Callable[[Digest], Any]
) -> tuple[list[Digest], str | None]:
    """The runs with the most frequent value of a setting; none if two values are equally frequent."""
    counts = Counter(map(of, runs))
    if len(counts) < 2:
        return list(runs), None
    votes = Counter(map(of, _voters(runs)))
    (value, most), second = votes.most_common(1)[0], votes.most_common(2)[1:]
    sides = " and ".join(f"{_short(side)} ({_runs(n)})" for side, n in sorted(counts.items(), key=str))
    differ = f"its runs have different {what}, {sides}"
    if second and second[0][1] == most:
        hint = "choose one with --budget" if what.startswith("budgets") else "give each its own --results"
        return [], f"{differ}: all are left out, as no side has more; {hint}"
    gone = [one for one in runs if of(one) != value]
    return (
        [one for one in runs if of(one) == value],
        f"{differ}: {_runs(len(gone))} left out, {_named(gone)}",
    )


def _voters(runs: Sequence[Digest]) -> Sequence[Digest]:
    """Imported runs have a say only if no method was measured, references only if there is no method."""
    methods = [one for one in runs if not is_reference(one)]
    return [one for one in methods if not is_imported(one)] or methods or runs


def _has_lost_methods(runs: Sequence[Digest], kept: Sequence[Digest]) -> bool:
    """Whether only references are left, and nothing that they could scale."""
    return all(map(is_reference, kept)) and not all(map(is_reference, runs))


def _without(runs: Sequence[Digest], some: Sequence[Digest], kept: Sequence[Digest]) -> list[Digest]:
    """All runs but those of `some` that are not `kept`."""
    gone = set(map(id, some)) - set(map(id, kept))
    return [one for one in runs if id(one) not in gone]


def _one_clock(runs: Sequence[Digest]) -> tuple[list[Digest], list[str]]:
    """For each learner the tasks on the clock that most have: virtual and real seconds are not pooled."""
    kept: list[Digest] = []
    lines = []
    for learner in dict.fromkeys(one.learner for one in runs):
        own = [one for one in runs if one.learner == learner]
        counts = Counter(map(_clock, _voters(own)))
        chosen = max(counts, key=lambda clock: (counts[clock], clock == "wall"))
        gone = [one for one in own if _clock(one) != chosen]
        kept += [one for one in own if _clock(one) == chosen]
        if gone:
            tasks = ", ".join(dict.fromkeys(one.task for one in gone))
            lines.append(
                f"{learner}: {_runs(len(gone))} on the {_clock(gone[0])} clock left out ({tasks}), as "
                f"{counts[chosen]} are on the {chosen} clock; give them a report of their own with --task"
            )
    return kept, lines


def _without_result(one: Digest) -> Digest:
    """What a failed run found before it failed does not count."""
    if one.state is not State.FAILED:
        return one
    nothing = Steps([], [], [], [], [], {})
    return replace(one, steps=nothing, full=nothing)


def _states(runs: Sequence[Digest]) -> list[str]:
    """A line for each way in which runs did not end well."""
    lines = []
    for state, what in (
        (State.FAILED, "failed run{s} {count} as without a result"),
        (State.INTERRUPTED, "interrupted run{s} left out"),
        (State.UNFINISHED, "unfinished run{s} left out"),
    ):
        found = [one for one in runs if one.state is state]
        if found:
            first = found[0]
            reason = f": {first.error}" if first.error else ""
            one = len(found) == 1
            told = what.format(s="" if one else "s", count="counts" if one else "count")
            lines.append(
                f"{len(found)} {told}, the first {first.task} {first.method} fold {first.fold}{reason}; see "
                "cfo-bench status"
            )
    going_on = [one for one in runs if one.goes_on]
    if going_on:
        first = going_on[0]
        lines.append(
            f"{_runs(len(going_on))} not done with a longer budget or more trials: counted as before, with "
            f"{first.budget_seconds:g} s, the first {first.task} {first.method} fold {first.fold}; see "
            "cfo-bench status"
        )
    return lines


def _limits(runs: Sequence[Digest]) -> list[str]:
    """Warnings about settings of methods that differ but don't forbid a comparison."""
    runs = [one for one in runs if not is_reference(one)]
    capped = Counter(one.header["spec"].get("max_trials") for one in runs)
    budgets = sorted({one.budget_seconds for one in runs})
    lines = []
    if len(capped) > 1:
        sides = ", ".join(f"{limit or 'none'} ({n} runs)" for limit, n in sorted(capped.items(), key=str))
        lines.append(f"runs have different --max-trials: {sides}")
    if len(budgets) > 1:
        lines.append(f"tasks have different budgets: {', '.join(f'{budget:g}' for budget in budgets)} s")
    return lines


def _named(runs: Sequence[Digest]) -> str:
    """The first runs by name, and the number of the others."""
    names = [f"{one.method} fold {one.fold} seed {one.seed}" for one in runs[:_AT_MOST]]
    more = f" and {len(runs) - _AT_MOST} more" if len(runs) > _AT_MOST else ""
    return ", ".join(names) + more


def _runs(n: int) -> str:
    return f"{n} run{'s' * (n != 1)}"


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _clock(one: Digest) -> str:
    """Times of an imported run that are not known to be real seconds are on a clock of their own."""
    clock = str(one.header["spec"].get("clock", "wall"))
    return clock if not is_imported(one) or clock == "wall" else f"imported ({imported_clock(one)})"


def _charge(one: Digest) -> str:
    return "its seconds count" if one.header["spec"].get("charge_method", False) else "its seconds are free"


def _kind(one: Digest) -> str:
    """What the run's method is: two variants of one name may be of different methods."""
    spec = one.header["spec"]
    options = _as_text(spec.get("options", {}))
    return f"{label(spec['method'])} {options}" if spec.get("variant") else options


def _holdout_share(one: Digest) -> float | None:
    spec = one.header["spec"]
    return spec.get("holdout_share") if spec.get("validation", "fold") == "holdout" else None


def _as_text(options: dict[str, Any]) -> str:
    return orjson.dumps(options, option=orjson.OPT_SORT_KEYS).decode()
