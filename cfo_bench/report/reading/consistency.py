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
from cfo_bench.report.contents import MOST_NAMES, plural, some
from cfo_bench.report.reading.digest import Digest, State, Steps, run_names
from cfo_bench.report.reading.imported import imported_clock, is_imported
from cfo_bench.report.reading.load import is_reference

# --- exclusions ------------------------------------------------------------------------------------
# Runs that are left out of a comparison, in words: one line for each reason, on however many tasks.


BUDGETS = "budgets (seconds)"


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting in which the runs of a task differ."""

    what: str  # the setting
    group: str  # under this name, it is the same setting on several tasks
    sides: Sequence[str]  # its values, each with the number of its runs
    runs: Sequence[Digest]  # all that differ
    gone: Sequence[Digest]  # those that are left out
    is_tied: bool  # no value has most runs, so all are left out


@dataclass(frozen=True, slots=True)
class Copies:
    """A run that is there more than once."""

    runs: Sequence[Digest]
    are_same: bool  # then one of them counts; else none


def differences_in_words(found: Sequence[Difference]) -> list[str]:
    groups: dict[tuple[str, bool], list[Difference]] = {}
    for one in found:
        groups.setdefault((one.group, one.is_tied), []).append(one)
    return [_excluding_difference(own) if len(own) == 1 else _differences(own) for own in groups.values()]


def _excluding_difference(own: Sequence[Difference]) -> str:
    [one] = own
    names = some([f"{run.method} fold {run.fold} seed {run.seed}" for run in one.gone])
    return f"{_task(one.gone[0])}: its runs have different {one.what}, {_sides(one)}: {_outcome(own, names)}"


def _differences(own: Sequence[Difference]) -> str:
    first, gone = own[0], [run for one in own for run in one.gone]
    n_tasks = len({(run.learner, run.task) for run in gone})
    have = "has" if n_tasks == 1 else "have"
    return (
        f"{plural(n_tasks, 'task')} {have} runs with different {first.group}, such as {_task(gone[0])}, "
        f"{_sides(first)}: {_outcome(own, run_names(gone))}"
    )


def _sides(one: Difference) -> str:
    return " and ".join(one.sides) if len(one.sides) < 3 else some(one.sides)


def _outcome(own: Sequence[Difference], names: str) -> str:
    is_budget = own[0].group == BUDGETS
    if own[0].is_tied:
        hint = "choose one with --budget" if is_budget else "give each its own --results"
        return f"all are left out, as no side has more; {hint}"
    least = min(run.budget_seconds for one in own for run in one.runs)
    hint = f"; --budget {least:g}s reads all as if they had ended then" if is_budget else ""
    return f"{plural(sum(len(one.gone) for one in own), 'run')} left out, {names}{hint}"


def copies_in_words(found: Sequence[Copies]) -> list[str]:
    lines = []
    for are_same, what in ((True, "counted once"), (False, "left out")):
        own = [one.runs for one in found if one.are_same is are_same]
        if not own:
            continue
        first, second, *_ = own[0]
        where = f"in {first.path} and {second.path}"
        if len(own) == 1:
            run = f"{first.method}, fold {first.fold}, seed {first.seed}"
            times = "twice" if len(own[0]) == 2 else f"{len(own[0])} times"
            lines.append(f"{_task(first)}: {run} is there {times}, {where}: it is {what}")
        else:
            names = run_names([runs[0] for runs in own])
            lines.append(
                f"{len(own)} runs are there more than once, the first {where}, and each is {what}: {names}"
            )
    return lines


def states_in_words(runs: Sequence[Digest]) -> list[str]:
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
            lines.append(f"{len(found)} {told}, the first {_run(first)}{reason}; see cfo-bench status")
    going_on = [one for one in runs if one.goes_on]
    if going_on:
        first = going_on[0]
        lines.append(
            f"{plural(len(going_on), 'run')} not done with a longer budget or more trials: counted as "
            f"before, with {first.budget_seconds:g} s, the first {_run(first)}; see cfo-bench status"
        )
    return lines


def short_budgets_in_words(short: Sequence[Digest], n_runs: int, budget_seconds: float) -> list[str]:
    """Of the runs with a shorter budget than was asked for."""
    if not short:
        return []
    first = short[0]
    return [
        f"{len(short)} of {plural(n_runs, 'run')} left out, as their budget is below {budget_seconds:g} s: "
        f"the first is {_run(first)}, with {first.budget_seconds:g} s"
    ]


def _task(one: Digest) -> str:
    return f"task {one.task!r} with {one.learner}"


def _run(one: Digest) -> str:
    return f"{one.task} {one.method} fold {one.fold}"


# --- conditions ------------------------------------------------------------------------------------
# Warnings if the runs that are compared had different machines, or shared one with other work.


# Our runs side by side may fill the machine. A load this much above is other work, or too many runs.
SPARE_LOAD_SHARE, SPARE_LOAD = 0.25, 1.0
# Any virtual machine loses less than this now and then.
STEAL_PERCENT = 5.0


def unequal_conditions(digests: Sequence[Digest]) -> list[str]:
    """One line for each difference.

    Runs on the virtual clock are left out where machines are compared: these don't matter to them.
    """
    real = [one for one in digests if one.header["spec"].get("clock", "wall") == "wall"]
    lines = [*_paused(digests), *_crowded(real), *_stolen(real)]
    cpus = _mixed(real, "processors", lambda one: [_machine(one, "cpu")])
    return lines + (cpus or _mixed(real, "machines of one kind", lambda one: one.nodes))


def _paused(digests: Sequence[Digest]) -> list[str]:
    paused = [one for one in digests if one.paused_seconds > 0.0]
    if not paused:
        return []
    return [
        f"{len(paused)} of {len(digests)} runs were paused (for up to "
        f"{max(one.paused_seconds for one in paused):.0f} s, which are not on their clocks): "
        f"{run_names(paused)}"
    ]


def _crowded(digests: Sequence[Digest]) -> list[str]:
    crowded = [
        one for one in digests if _load(one) > _cpus(one) + max(SPARE_LOAD, SPARE_LOAD_SHARE * _cpus(one))
    ]
    if not crowded:
        return []
    worst = max(crowded, key=lambda one: _load(one) / _cpus(one))
    return [
        f"{len(crowded)} of {len(digests)} runs shared a busy machine, where processes waited for each other "
        f"(load up to {_load(worst):.1f} on {_cpus(worst)} processors): {run_names(crowded)}"
    ]


def _stolen(digests: Sequence[Digest]) -> list[str]:
    stolen = [one for one in digests if _steal(one) > STEAL_PERCENT]
    if not stolen:
        return []
    return [
        f"{len(stolen)} of {len(digests)} runs lost time to other virtual machines of their host "
        f"(up to {max(map(_steal, stolen)):.0f} % of it): {run_names(stolen)}"
    ]


def _mixed(digests: Sequence[Digest], what: str, of: Callable[[Digest], list[Any]]) -> list[str]:
    """A line if runs on the same task, which are compared, were on different machines or processors."""
    by_task: dict[tuple[str, str], list[Digest]] = {}
    for one in digests:
        by_task.setdefault((one.learner, one.task), []).append(one)
    counts: Counter[str] = Counter()
    tasks = []
    for (_, task), runs in by_task.items():
        different = {str(value) for one in runs for value in of(one) if value}
        if len(different) > 1:
            tasks.append(task)
            counts.update(str(value) for one in runs for value in of(one) if value)
    if not tasks:
        return []
    sides = ", ".join(f"{value} ({n})" for value, n in counts.most_common(MOST_NAMES))
    others = f" and {len(counts) - MOST_NAMES} more" if len(counts) > MOST_NAMES else ""
    return [
        f"{len(tasks)} of {len(by_task)} tasks have runs on different {what}, which may differ in speed: "
        f"{sides}{others}, the first on {tasks[0]}"
    ]


def _cpus(one: Digest) -> int:
    """All processors of the machine, not only those that the run may use: the load counts all."""
    return int(_machine(one, "cpus") or _machine(one, "cores") or 1)


def _load(one: Digest) -> float:
    """The higher of the loads at the start and at the end."""
    return max(float(_machine(one, "load") or 0.0), one.load or 0.0)


def _steal(one: Digest) -> float:
    """The share of stolen time during the run if it is known, else before the run."""
    return float(
        one.steal_percent if one.steal_percent is not None else _machine(one, "steal_percent") or 0.0
    )


def _machine(one: Digest, key: str) -> Any:
    return one.header.get("machine", {}).get(key)


# --- consistency -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparable:
    """The runs that may be compared, and a warning for all that is left out."""

    digests: list[Digest]
    warnings: list[str]


# What all runs of a task with one learner must have in common: its name, and where it is found.
_ALIKE: tuple[tuple[str, Callable[[Digest], Any]], ...] = (
    (BUDGETS, lambda one: one.budget_seconds),
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
    kept: list[Digest] = []
    differences: list[Difference] = []
    copies: list[Copies] = []
    groups: dict[tuple[str, str], list[Digest]] = {}
    for one in ended:
        groups.setdefault((one.learner, one.task), []).append(one)
    for runs in groups.values():
        alike, different = _alike(runs)
        once, double = _each_once(alike)
        kept += once
        differences += different
        copies += double
    kept, of_clocks = _one_clock(kept)
    warnings = [
        *states_in_words(asked),
        *short_budgets_in_words(short, len(digests), least),
        *differences_in_words(differences),
        *copies_in_words(copies),
        *of_clocks,
    ]
    if not any(one.state is State.DONE for one in kept) or _has_lost_methods(digests, kept):
        return Comparable([], warnings)
    return Comparable([_without_result(one) for one in kept], warnings + _limits(kept))


def _alike(runs: Sequence[Digest]) -> tuple[list[Digest], list[Difference]]:
    """The runs of a task with the settings of most, and the settings for which others are left out."""
    kept: list[Digest] = list(runs)
    found: list[Difference] = []

    def keep_most(own: Sequence[Digest], what: str, of: Callable[[Digest], Any], group: str = "") -> None:
        difference = _difference(own, what, of, group or what)
        if difference is not None:
            found.append(difference)
            kept[:] = _without(kept, difference.gone)

    for what, of in _ALIKE:
        keep_most([one for one in kept if what != BUDGETS or not is_reference(one)], what, of)
    for method in sorted({one.method for one in kept}):
        own = [one for one in kept if one.method == method]
        keep_most(own, f"options of {method}", _kind, "options of a method")
    return [] if _has_lost_methods(runs, kept) else kept, found


def _difference(
    runs: Sequence[Digest], what: str, of: Callable[[Digest], Any], group: str
) -> Difference | None:
    """Leaves out the runs without the most frequent value of a setting; all if two are equally frequent."""
    counts = Counter(map(of, runs))
    if len(counts) < 2:
        return None
    votes = Counter(map(of, _voters(runs)))
    (value, most), second = votes.most_common(1)[0], votes.most_common(2)[1:]
    is_tied = bool(second) and second[0][1] == most
    sides = [f"{_short(side)} ({plural(n, 'run')})" for side, n in sorted(counts.items(), key=str)]
    gone = [one for one in runs if is_tied or of(one) != value]
    return Difference(what, group, sides, runs, gone, is_tied)


def _each_once(runs: Sequence[Digest]) -> tuple[list[Digest], list[Copies]]:
    """The runs of a task, and those that are there more than once: nobody knows which of two is meant."""
    by_name: dict[tuple[str, int, int], list[Digest]] = {}
    for one in runs:
        by_name.setdefault((one.method, one.fold, one.seed), []).append(one)
    found = [
        Copies(same, all(replace(one, path=same[0].path) == same[0] for one in same))
        for same in by_name.values()
        if len(same) > 1
    ]
    gone = [one for copies in found for one in copies.runs[copies.are_same :]]
    return _without(runs, gone), found


def _voters(runs: Sequence[Digest]) -> Sequence[Digest]:
    """Imported runs have a say only if no method was measured, references only if there is no method."""
    methods = [one for one in runs if not is_reference(one)]
    return [one for one in methods if not is_imported(one)] or methods or runs


def _has_lost_methods(runs: Sequence[Digest], kept: Sequence[Digest]) -> bool:
    """Whether only references are left, and nothing that they could scale."""
    return all(map(is_reference, kept)) and not all(map(is_reference, runs))


def _without(runs: Sequence[Digest], gone: Sequence[Digest]) -> list[Digest]:
    left_out = set(map(id, gone))
    return [one for one in runs if id(one) not in left_out]


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
            tasks = some(list(dict.fromkeys(one.task for one in gone)))
            lines.append(
                f"{learner}: {plural(len(gone), 'run')} on the {_clock(gone[0])} clock left out ({tasks}), "
                f"as {counts[chosen]} are on the {chosen} clock; give them a report of their own with --task"
            )
    return kept, lines


def _without_result(one: Digest) -> Digest:
    """What a failed run found before it failed does not count."""
    if one.state is not State.FAILED:
        return one
    nothing = Steps([], [], [], [], [], {})
    return replace(one, steps=nothing, full=nothing)


def _limits(runs: Sequence[Digest]) -> list[str]:
    """Warnings about settings of methods that differ but don't forbid a comparison."""
    runs = [one for one in runs if not is_reference(one)]
    capped = Counter(one.header["spec"].get("max_trials") for one in runs)
    budgets = sorted({one.budget_seconds for one in runs})
    lines = []
    if len(capped) > 1:
        sides = [f"{limit or 'none'} ({plural(n, 'run')})" for limit, n in sorted(capped.items(), key=str)]
        lines.append(f"runs have different --max-trials: {some(sides)}")
    if len(budgets) > 1:
        lines.append(f"tasks have different budgets: {some([f'{budget:g}' for budget in budgets])} s")
    return lines


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
