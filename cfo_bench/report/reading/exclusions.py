"""Runs that are left out of a comparison, in words: one line for each reason, on however many tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cfo_bench.report.contents import plural, some
from cfo_bench.report.reading.digest import Digest, State
from cfo_bench.report.reading.run_names import run_names

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
    return [_difference(own) if len(own) == 1 else _differences(own) for own in groups.values()]


def _difference(own: Sequence[Difference]) -> str:
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
