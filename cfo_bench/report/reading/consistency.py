"""Selects the runs that may be compared, and writes a warning about all others.

If the runs of a task differ in a setting, those with the value of the majority are kept, so that a single
deviating run does not remove the task from the report. The references, which scale the scores, do not vote;
they may have any budget, but must have the other settings. Each setting declares whether it has to be equal:
see `results/comparability.py`. Other warnings are about runs that are compared although their conditions
differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from cfo_bench.records import RunStatus
from cfo_bench.registry import label
from cfo_bench.report.contents import MOST_NAMES, plural, some
from cfo_bench.results.comparability import Aspect, comparison_aspects, method_options, shown
from cfo_bench.results.digest import NO_INCUMBENTS, TrialDigest
from cfo_bench.results.run import Run

# A load that exceeds the number of processors by more than this is caused by other work or too many runs:
# parallel runs may use all processors.
SPARE_LOAD_SHARE, SPARE_LOAD = 0.25, 1.0
# The tolerance above the threads that a run was given: a whole thread may take a processor from another run.
SPARE_THREADS = 0.25
# Every virtual machine sometimes loses up to this share of its time.
STEAL_PERCENT = 5.0

_BUDGET = "budget_seconds"
_ENDED = (RunStatus.DONE, RunStatus.FAILED)


@dataclass(frozen=True, slots=True)
class Comparable:
    """The runs that may be compared, and warnings about those that are left out."""

    runs: list[Run]
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class _Split:
    """A setting in which the runs of a task differ."""

    name: str  # the setting, in the plural
    group: str  # splits on several tasks with the same group are reported together
    sides: Sequence[str]  # its values, each with the number of its runs
    excluded: Sequence[Run]
    is_tied: bool  # no value has the majority, so all are excluded


@dataclass(frozen=True, slots=True)
class _Copies:
    """A run that exists more than once."""

    runs: Sequence[Run]
    are_same: bool  # whether the copies are equal: then one counts; otherwise none


def comparable(runs: Sequence[Run], budget_seconds: float | None = None) -> Comparable:
    """Excludes unfinished runs, and of each task those whose settings differ from the majority.

    A failed run is kept, as a run without a result: a method must not gain by failing. With
    `budget_seconds`, runs with a shorter budget are excluded.
    """
    least = budget_seconds or 0.0
    short = [run for run in runs if run.budget_seconds < least and not run.is_reference]
    long_enough = [run for run in runs if run.budget_seconds >= least or run.is_reference]
    ended = [run for run in long_enough if run.status in _ENDED]
    kept: list[Run] = []
    splits: list[_Split] = []
    copies: list[_Copies] = []
    for on_task in by_task(ended).values():
        alike, differing = _majority(on_task)
        different, repeated = _different_runs(alike)
        kept += different
        splits += differing
        copies += repeated
    kept, about_clocks = _with_one_clock(kept)
    warnings = [
        *_about_statuses(long_enough),
        *_about_short_budgets(short, len(runs), least),
        *_about_splits(splits),
        *_about_copies(copies),
        *about_clocks,
    ]
    if not any(run.status is RunStatus.DONE for run in kept) or _has_lost_methods(runs, kept):
        return Comparable([], warnings)
    return Comparable([_counted(run) for run in kept], warnings + _about_limits(kept))


def by_task(runs: Sequence[Run]) -> dict[tuple[str, str], list[Run]]:
    """The runs by learner and task."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.learner, run.task), []).append(run)
    return groups


def budgets_to_share(runs: Sequence[Run]) -> dict[tuple[str, str], Counter[float]]:
    """Tasks whose runs have different budgets and differ in nothing else: the number of runs by budget."""
    budgets = {}
    for key, on_task in by_task([run for run in runs if run.status in _ENDED]).items():
        alike, _ = _majority(on_task, ignoring=(_BUDGET,))
        of_methods = Counter(run.budget_seconds for run in alike if not run.is_reference)
        if len(of_methods) > 1:
            budgets[key] = of_methods
    return budgets


def _majority(runs: Sequence[Run], ignoring: Collection[str] = ()) -> tuple[list[Run], list[_Split]]:
    """The runs of a task with the settings of the majority, and the settings that exclude others."""
    kept: list[Run] = list(runs)
    splits: list[_Split] = []

    def keep_majority(split: _Split | None) -> None:
        if split is not None:
            splits.append(split)
            kept[:] = _without(kept, split.excluded)

    for aspect in comparison_aspects(type(runs[0].spec)):
        if aspect.name not in ignoring:
            affected = [
                run
                for run in kept
                if not (aspect.name == _BUDGET and run.is_reference) and aspect.of(run.header) is not UNSET
            ]
            keep_majority(_split(affected, partial(_value, aspect), aspect.plural, aspect.plural))
    for method in sorted({run.method for run in kept}):
        of_method = [run for run in kept if run.method == method]
        name = f"options of {method}"
        keep_majority(_split(of_method, lambda run: method_options(run.header), name, "options of a method"))
    return [] if _has_lost_methods(runs, kept) else kept, splits


def _value(aspect: Aspect, run: Run) -> Any:
    value = aspect.of(run.header)
    return "none" if value is None else value


def _split(runs: Sequence[Run], value_of: Callable[[Run], Any], name: str, group: str) -> _Split | None:
    """Excludes the runs without the most frequent value of a setting; all if two are equally frequent."""
    counts = Counter(map(value_of, runs))
    if len(counts) < 2:
        return None
    votes = Counter(map(value_of, _voters(runs)))
    (winner, most), second = votes.most_common(1)[0], votes.most_common(2)[1:]
    is_tied = bool(second) and second[0][1] == most
    sides = [f"{_shortened(value)} ({plural(n, 'run')})" for value, n in sorted(counts.items(), key=str)]
    excluded = [run for run in runs if is_tied or value_of(run) != winner]
    return _Split(name, group, sides, excluded, is_tied)


def _shortened(value: object) -> str:
    """A value in a warning; of a SHA-256, the first 12 characters."""
    text = shown(value)
    is_hash = len(text) == 64 and " " not in text
    return text[:12] if is_hash else text


def _different_runs(runs: Sequence[Run]) -> tuple[list[Run], list[_Copies]]:
    """The runs of a task without copies. If copies differ, none counts, because it is unknown which one is
    meant.
    """
    by_name: dict[tuple[str, int, int], list[Run]] = {}
    for run in runs:
        by_name.setdefault((run.method, run.fold, run.seed), []).append(run)
    copies = [
        _Copies(same, all(run.is_same_as(same[0]) for run in same[1:]))
        for same in by_name.values()
        if len(same) > 1
    ]
    excluded = [run for repeated in copies for run in repeated.runs[repeated.are_same :]]
    return _without(runs, excluded), copies


def _voters(runs: Sequence[Run]) -> Sequence[Run]:
    """Imported runs vote only if no method was measured, references only if there is no method."""
    methods = [run for run in runs if not run.is_reference]
    return [run for run in methods if not run.is_imported] or methods or runs


def _has_lost_methods(runs: Sequence[Run], kept: Sequence[Run]) -> bool:
    """Whether only references are left, without any method."""
    return all(run.is_reference for run in kept) and not all(run.is_reference for run in runs)


def _without(runs: Sequence[Run], excluded: Sequence[Run]) -> list[Run]:
    ids = set(map(id, excluded))
    return [run for run in runs if id(run) not in ids]


def _with_one_clock(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """For each learner the tasks on the clock of the majority: virtual and real seconds are not pooled."""
    [clock] = [aspect for aspect in comparison_aspects() if aspect.name == "clock"]
    kept: list[Run] = []
    lines = []
    for learner in dict.fromkeys(run.learner for run in runs):
        of_learner = [run for run in runs if run.learner == learner]
        counts = Counter(clock.of(run.header) for run in _voters(of_learner))
        winner = max(counts, key=lambda name: (counts[name], name == "wall"))
        excluded = [run for run in of_learner if clock.of(run.header) != winner]
        kept += [run for run in of_learner if clock.of(run.header) == winner]
        if excluded:
            tasks = some(list(dict.fromkeys(run.task for run in excluded)))
            lines.append(
                f"{learner}: {plural(len(excluded), 'run')} on the {clock.of(excluded[0].header)} clock left "
                f"out ({tasks}), as {counts[winner]} are on the {winner} clock; give them a report of their "
                "own with --task"
            )
    return kept, lines


def _counted(run: Run) -> Run:
    """The run, without its results if it failed."""
    if run.status is not RunStatus.FAILED:
        return run
    return replace(run, stored=msgspec.structs.replace(run.digest, incumbents=NO_INCUMBENTS, only_full=None))


# --- warnings about runs that are left out --------------------------------------------------------


def run_names(runs: Sequence[Run]) -> str:
    """The names of runs, such as `iris cfo fold 0, 1; iris rs fold 1; and 3 more`."""
    folds: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        folds.setdefault((run.task, run.method), []).append(str(run.fold))
    names = [
        f"{task} {method} fold {some(list(dict.fromkeys(numbers)))}"
        for (task, method), numbers in folds.items()
    ]
    more = sum(len(numbers) for numbers in list(folds.values())[MOST_NAMES:])
    return "; ".join(names[:MOST_NAMES]) + (f"; and {more} more" if more else "")


def _about_splits(splits: Sequence[_Split]) -> list[str]:
    """One line for each setting, whatever the number of tasks."""
    groups: dict[tuple[str, bool], list[_Split]] = {}
    for split in splits:
        groups.setdefault((split.group, split.is_tied), []).append(split)
    return [_about_split(same) if len(same) == 1 else _about_several(same) for same in groups.values()]


def _about_split(splits: Sequence[_Split]) -> str:
    [split] = splits
    names = some([f"{run.method} fold {run.fold} seed {run.seed}" for run in split.excluded])
    return (
        f"{_task(split.excluded[0])}: its runs have different {split.name}, {_sides(split)}: "
        f"{_consequence(splits, names)}"
    )


def _about_several(splits: Sequence[_Split]) -> str:
    first, excluded = splits[0], [run for split in splits for run in split.excluded]
    n_tasks = len({(run.learner, run.task) for run in excluded})
    have = "has" if n_tasks == 1 else "have"
    return (
        f"{plural(n_tasks, 'task')} {have} runs with different {first.group}, such as {_task(excluded[0])}, "
        f"{_sides(first)}: {_consequence(splits, run_names(excluded))}"
    )


def _sides(split: _Split) -> str:
    return " and ".join(split.sides) if len(split.sides) < 3 else some(split.sides)


def _consequence(splits: Sequence[_Split], names: str) -> str:
    if splits[0].is_tied:
        return "all are left out, as no setting is the most frequent; give each its own --results"
    return f"{plural(sum(len(split.excluded) for split in splits), 'run')} left out, {names}"


def _about_copies(copies: Sequence[_Copies]) -> list[str]:
    lines = []
    for are_same, consequence in ((True, "counted once"), (False, "left out")):
        groups = [repeated.runs for repeated in copies if repeated.are_same is are_same]
        if not groups:
            continue
        first, second, *_ = groups[0]
        places = f"in {first.path} and {second.path}"
        if len(groups) == 1:
            name = f"{first.method}, fold {first.fold}, seed {first.seed}"
            times = "twice" if len(groups[0]) == 2 else f"{len(groups[0])} times"
            lines.append(f"{_task(first)}: {name} exists {times}, {places}: it is {consequence}")
        else:
            names = run_names([runs[0] for runs in groups])
            lines.append(
                f"{len(groups)} runs exist more than once, the first {places}, and each is {consequence}: "
                f"{names}"
            )
    return lines


def _about_statuses(runs: Sequence[Run]) -> list[str]:
    """A line for each status of a run that did not finish normally."""
    lines = []
    for status, consequence in (
        (RunStatus.FAILED, "failed run{s} {count} as having no result"),
        (RunStatus.INTERRUPTED, "interrupted run{s} left out"),
        (RunStatus.UNFINISHED, "unfinished run{s} left out"),
    ):
        with_status = [run for run in runs if run.status is status]
        if with_status:
            first, is_single = with_status[0], len(with_status) == 1
            reason = f": {first.error}" if first.error else ""
            text = consequence.format(s="" if is_single else "s", count="counts" if is_single else "count")
            lines.append(f"{len(with_status)} {text}, the first {_run(first)}{reason}; see cfo-bench status")
    extended = [run for run in runs if run.is_being_extended]
    if extended:
        first = extended[0]
        lines.append(
            f"{plural(len(extended), 'run')} being extended to a longer budget or more trials: counted "
            f"with the earlier {first.budget_seconds:g} s, the first {_run(first)}; see cfo-bench status"
        )
    return lines


def _about_short_budgets(short: Sequence[Run], n_runs: int, budget_seconds: float) -> list[str]:
    if not short:
        return []
    first = short[0]
    return [
        f"{len(short)} of {plural(n_runs, 'run')} left out, as their budget is below {budget_seconds:g} s: "
        f"the first is {_run(first)}, with {first.budget_seconds:g} s"
    ]


def _task(run: Run) -> str:
    return f"task {run.task!r} with {label(run.learner)}"


def _run(run: Run) -> str:
    return f"{run.task} {run.method} fold {run.fold}"


# --- warnings about runs that are compared --------------------------------------------------------


def _about_limits(runs: Sequence[Run]) -> list[str]:
    """Warnings about different limits that do not prevent a comparison."""
    runs = [run for run in runs if not run.is_reference]
    limits = Counter(run.spec.max_trials for run in runs)
    budgets = sorted({run.budget_seconds for run in runs})
    lines = []
    if len(limits) > 1:
        sides = [f"{limit or 'none'} ({plural(n, 'run')})" for limit, n in sorted(limits.items(), key=str)]
        lines.append(f"runs have different --max-trials: {some(sides)}")
    if len(budgets) > 1:
        lines.append(f"tasks have different budgets: {some([f'{budget:g}' for budget in budgets])} s")
    return lines


def unequal_conditions(runs: Sequence[Run]) -> list[str]:
    """Warnings if runs were on different machines, or on busy machines: one line for each difference.

    Machines do not matter for runs on the virtual clock.
    """
    on_wall_clock = [run for run in runs if run.spec.clock == "wall"]
    lines = [
        *_paused(runs),
        *_with_more_threads(on_wall_clock, "the learner", lambda digest: digest.learner_threads),
        *_with_more_threads(on_wall_clock, "the method", lambda digest: digest.method_threads),
        *_crowded(on_wall_clock),
        *_stolen(on_wall_clock),
    ]
    processors = _mixed(on_wall_clock, "processors", _processors)
    return lines + (processors or _mixed(on_wall_clock, "machines of one kind", lambda run: run.nodes))


def _processors(run: Run) -> list[str]:
    machine = run.header.machine
    return [machine.cpu] if machine and machine.cpu else []


def _paused(runs: Sequence[Run]) -> list[str]:
    paused = [run for run in runs if run.paused_seconds > 0.0]
    charged = [run for run in runs if run.charged_pause_seconds > 0.0]
    lines = []
    if paused:
        longest = max(run.paused_seconds for run in paused)
        lines.append(
            f"{len(paused)} of {len(runs)} runs were paused (for up to {longest:.0f} s, which are not on "
            f"their clocks): {run_names(paused)}"
        )
    if charged:
        longest = max(run.charged_pause_seconds for run in charged)
        lines.append(
            f"{len(charged)} of {len(runs)} runs were stopped while processes that they had started used the "
            f"processor (for up to {longest:.0f} s, which are on their clocks): {run_names(charged)}"
        )
    return lines


def _with_more_threads(
    runs: Sequence[Run], user: str, threads_of: Callable[[TrialDigest], float | UnsetType]
) -> list[str]:
    used = [(threads_of(run.digest) or 0.0, run) for run in runs]
    over = [(threads, run) for threads, run in used if threads > run.spec.threads + SPARE_THREADS]
    if not over:
        return []
    most, worst = max(over, key=lambda pair: pair[0] / pair[1].spec.threads)
    return [
        f"{len(over)} of {len(runs)} runs used more threads than they were given: {user} used {most:.1f}, "
        f"was given {worst.spec.threads}: {run_names([run for _, run in over])}"
    ]


def _crowded(runs: Sequence[Run]) -> list[str]:
    crowded = [
        run for run in runs if _load(run) > _cpus(run) + max(SPARE_LOAD, SPARE_LOAD_SHARE * _cpus(run))
    ]
    if not crowded:
        return []
    worst = max(crowded, key=lambda run: _load(run) / _cpus(run))
    return [
        f"{len(crowded)} of {len(runs)} runs shared a busy machine, where processes waited for each other "
        f"(load up to {_load(worst):.1f} on {_cpus(worst)} processors): {run_names(crowded)}"
    ]


def _stolen(runs: Sequence[Run]) -> list[str]:
    stolen = [run for run in runs if _steal_percent(run) > STEAL_PERCENT]
    if not stolen:
        return []
    return [
        f"{len(stolen)} of {len(runs)} runs lost time to other virtual machines of their host "
        f"(up to {max(map(_steal_percent, stolen)):.0f} % of it): {run_names(stolen)}"
    ]


def _mixed(runs: Sequence[Run], what: str, machines_of: Callable[[Run], list[str]]) -> list[str]:
    """A line if compared runs on the same task were on different machines or processors."""
    tasks = by_task(runs)
    counts: Counter[str] = Counter()
    mixed = []
    for (_, task), on_task in tasks.items():
        machines = [machine for run in on_task for machine in machines_of(run)]
        if len(set(machines)) > 1:
            mixed.append(task)
            counts.update(machines)
    if not mixed:
        return []
    sides = ", ".join(f"{machine} ({n})" for machine, n in counts.most_common(MOST_NAMES))
    others = f" and {len(counts) - MOST_NAMES} more" if len(counts) > MOST_NAMES else ""
    return [
        f"{len(mixed)} of {len(tasks)} tasks have runs on different {what}, which may differ in speed: "
        f"{sides}{others}, the first on {mixed[0]}"
    ]


def _cpus(run: Run) -> int:
    """The number of processors of the machine; those that the run may not use count too, as in the load."""
    machine = run.header.machine
    return (machine.cpus or machine.cores or 1) if machine else 1


def _load(run: Run) -> float:
    """The higher of the loads at the start and at the end."""
    at_start = run.header.machine.load if run.header.machine else None
    at_end = run.end.load if run.end else None
    return max(at_start or 0.0, at_end or 0.0)


def _steal_percent(run: Run) -> float:
    """The share of stolen time during the run if it is known, otherwise before the run."""
    if run.end is not None and run.end.steal_percent is not None:
        return run.end.steal_percent
    before = run.header.machine.steal_percent if run.header.machine else None
    return before or 0.0
