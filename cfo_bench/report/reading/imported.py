"""Runs that are read with changes: with a shorter budget, or imported runs with added facts.

With `cfo-bench report --budget`, runs are read as if they had ended at this budget; without it, runs of a
task with different budgets are read at the largest that they share. The source of an imported run may not
contain all facts: these are taken from the measured runs on the same task, and a notice reports this.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from cfo_bench.errors import CfoBenchError
from cfo_bench.records import RunStatus
from cfo_bench.registry import label
from cfo_bench.report.contents import plural, some
from cfo_bench.report.reading.consistency import budgets_to_share, by_task, run_names
from cfo_bench.results.limits import shortened
from cfo_bench.results.run import Run, read_finished_part, read_run
from cfo_bench.results.schema import ImportOrigin

# --- a shorter budget -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shortened:
    """The runs as if they had ended sooner, and notices about them."""

    runs: list[Run]
    unreadable: list[str]  # a line for each trace that can no longer be read
    notices: list[str]


def as_if_ended(runs: Sequence[Run], budget_seconds: float) -> Shortened:
    """The runs as if each had ended at `budget_seconds`.

    Only trials that ended by then count. Traces of runs with a longer budget are read again, because a digest
    describes the whole run. Runs with a shorter budget are unchanged, and so are references, which scale the
    scores whatever their budget was. Runs whose method plans with its budget are left out, because the method
    would have proposed other trials.
    """
    shorter, n_shortened = _shorter_runs(runs, lambda run: budget_seconds)
    n_methods = sum(not run.is_reference for run in runs)
    return replace(
        shorter, notices=[*_about_shortened(n_shortened, n_methods, budget_seconds), *shorter.notices]
    )


def at_shared_budgets(runs: Sequence[Run]) -> Shortened:
    """The runs of each task as if they had ended at the largest budget that all of them have."""
    budgets = budgets_to_share(runs)
    shorter, _ = _shorter_runs(
        runs, lambda run: min(budgets.get((run.learner, run.task), [run.budget_seconds]))
    )
    return replace(shorter, notices=[*_about_shared(budgets), *shorter.notices])


def _shorter_runs(runs: Sequence[Run], budget_of: Callable[[Run], float]) -> tuple[Shortened, int]:
    """The runs as if each had ended at its budget, and the number of longer runs."""
    planned = [
        run
        for run in runs
        if not run.is_reference and run.header.knows_budget and _is_longer(run, budget_of(run))
    ]
    excluded = set(map(id, planned))
    kept = [run for run in runs if id(run) not in excluded]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(_shortened_or_message, kept, map(budget_of, kept)))
    shorter = Shortened(
        [answer for answer in answers if isinstance(answer, Run)],
        [answer for answer in answers if isinstance(answer, str)],
        _about_planned(planned, budget_of),
    )
    return shorter, sum(answer is not run for answer, run in zip(answers, kept, strict=True))


def _is_longer(run: Run, budget_seconds: float) -> bool:
    """Whether the trace of a run may contain more than a run with this budget."""
    return run.budget_seconds > budget_seconds or (
        run.is_being_extended and run.budget_seconds != budget_seconds
    )


def _shortened_or_message(run: Run, budget_seconds: float) -> Run | str | None:
    if run.is_reference or not _is_longer(run, budget_seconds):
        return run
    try:
        is_in_finished_part = run.is_being_extended and run.budget_seconds > budget_seconds
        whole = read_finished_part(run.path) if is_in_finished_part else read_run(run.path)
        if whole is None:
            return None
        if run.is_imported:  # its header has been completed
            whole = replace(whole, header=run.header)
        shorter = replace(shortened(whole, budget_seconds), is_being_extended=False).digested()
    except CfoBenchError as error:
        return str(error)
    # A run that is being extended, and has not reached this budget, keeps its shorter budget.
    return shorter if shorter.status is RunStatus.DONE or not run.is_being_extended else run


def _about_shortened(n_shortened: int, n_runs: int, budget_seconds: float) -> list[str]:
    if not n_shortened:
        return []
    has = "had a longer budget and is" if n_shortened == 1 else "had longer budgets and are"
    they = "it" if n_shortened == 1 else "they"
    return [
        f"{n_shortened} of {plural(n_runs, 'run')} {has} read as if {they} had ended at {budget_seconds:g} s"
    ]


def _about_shared(budgets: Mapping[tuple[str, str], Counter[float]]) -> list[str]:
    if not budgets:
        return []
    (learner, task), counts = next(iter(budgets.items()))
    sides = some([f"{seconds:g} s ({plural(n, 'run')})" for seconds, n in sorted(counts.items())])
    if len(budgets) == 1:
        return [
            f"task {task!r} with {learner}: its runs have different budgets, {sides}: all are read as if "
            f"they had ended at {min(counts):g} s, the largest budget that they share"
        ]
    return [
        f"{len(budgets)} tasks have runs with different budgets, such as task {task!r} with {learner}, "
        f"{sides}: all runs of a task are read as if they had ended at the largest budget that they share"
    ]


def _about_planned(planned: Sequence[Run], budget_of: Callable[[Run], float]) -> list[str]:
    if not planned:
        return []
    return [
        f"{plural(len(planned), 'run')} left out: the method plans with its budget, so a run of "
        f"{planned[0].budget_seconds:g} s does not begin like one of {budget_of(planned[0]):g} s: "
        f"{run_names(planned)}"
    ]


# --- imported runs --------------------------------------------------------------------------------

# Settings that an imported run is assumed to share with the measured ones, if its source does not state them.
_SETTINGS = ("n_folds", "threads", "parallel", "learner_options")
# Facts that a source may not state, with their names in a notice.
_FACTS = {
    "budget_seconds": "budget",
    "n_folds": "folds",
    "threads": "threads",
    "learner_options": "options of the learner",
    "data": "data",
    "constant_loss": "loss of a constant prediction",
}
_CLOCKS = {
    "virtual": "a virtual clock",
    "durations": "those of its trials added up",
    "trials": "each trial counts as one second",
}


def origin(imported: ImportOrigin) -> str:
    """The source of an imported run."""
    return f"imported from {imported.format} ({Path(imported.source).name}, SHA-256 {imported.sha256[:12]}…)"


def lacks(run: Run, fact: str) -> bool:
    """Whether the source of an imported run does not state a fact."""
    return run.header.imported is not None and fact in run.header.imported.unknown


def completed(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """All runs, with the missing facts of imported runs added, and notices about these."""
    completed_runs: dict[Path, Run] = {}
    notices: dict[tuple[str, str, tuple[str, ...]], list[list[Run]]] = {}
    for on_task in by_task(runs).values():
        measured = [run for run in on_task if not run.is_imported]
        imported = [run for run in on_task if run.is_imported]
        by_method: dict[str, list[Run]] = {}
        for run in imported:
            completed_runs[run.path] = _with_facts_of_others(run, measured, imported)
            by_method.setdefault(run.method, []).append(completed_runs[run.path])
        for method, of_method in by_method.items():
            remarks = _remarks(of_method[0], bool(measured))
            notices.setdefault((method, of_method[0].learner, remarks), []).append(of_method)
    lines = [_notice(tasks, remarks) for (_, _, remarks), tasks in notices.items()]
    return [completed_runs.get(run.path, run) for run in runs], lines


def _with_facts_of_others(run: Run, measured: Sequence[Run], imported: Sequence[Run]) -> Run:
    if lacks(run, "budget_seconds"):
        # With measured methods it gets their budget; without them, none of its trials is cut off.
        methods = [other for other in measured if not other.is_reference]
        budget = _most_frequent(methods, lambda other: other.budget_seconds)
        run = _with_budget(run, budget or max(other.budget_seconds for other in imported))
    header = run.header
    if lacks(run, "constant_loss"):
        known = [other for other in (*measured, *imported) if not lacks(other, "constant_loss")]
        same_fold = [other.constant_loss for other in known if other.fold == run.fold]
        constants = same_fold or [other.constant_loss for other in known]
        worst = max(other.constant_loss for other in imported)
        header = msgspec.structs.replace(header, constant_loss=fmean(constants) if constants else worst)
    if measured:
        settings = {name: _setting(measured, name) for name in _SETTINGS if lacks(run, name)}
        header = msgspec.structs.replace(header, spec=replace(header.spec, **settings))
        if lacks(run, "data"):
            data = {
                "sha256": _most_frequent(measured, lambda other: other.header.data.sha256),
                "recording": _most_frequent(measured, lambda other: other.header.data.recording),
            }
            known_data = {name: value for name, value in data.items() if value}
            header = msgspec.structs.replace(header, data=msgspec.structs.replace(header.data, **known_data))
    return replace(run, header=header)


def _setting(measured: Sequence[Run], name: str) -> Any:
    return _most_frequent(measured, lambda other: getattr(other.spec, name))


def _most_frequent(runs: Iterable[Run], value_of: Callable[[Run], Any]) -> Any:
    """The most frequent value; None without a run."""
    values = [value_of(run) for run in runs]
    if not values:
        return None
    (text, _), *_ = Counter(map(repr, values)).most_common(1)
    return next(value for value in values if repr(value) == text)


def _with_budget(run: Run, budget_seconds: float) -> Run:
    """The run with another budget, without later results."""
    if budget_seconds == run.budget_seconds:
        return run
    try:
        whole = read_run(run.path)
        return run if whole is None else shortened(whole, budget_seconds).digested()
    except CfoBenchError:  # changed since it was read
        return run


def _notice(tasks: Sequence[Sequence[Run]], remarks: Sequence[str]) -> str:
    """The notice about an imported method, which is the same on all these tasks, each with its runs."""
    run = tasks[0][0]
    sources = list(
        dict.fromkeys(origin(runs[0].header.imported) for runs in tasks if runs[0].header.imported)
    )
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    names = some([runs[0].task for runs in tasks])
    result = [_result(tasks[0])] if len(tasks) == 1 and _imported_clock(run) != "wall" else []
    return "; ".join(
        [f"{run.method} on {names} with {label(run.learner)} is {sources[0]}{more}", *remarks, *result]
    )


def _imported_clock(run: Run) -> str:
    """The unit of its times: `wall`, `virtual`, `durations` or `trials`."""
    return run.header.imported.clock if run.header.imported else ""


def _remarks(run: Run, has_measured: bool) -> tuple[str, ...]:
    assumed = [fact for name, fact in _FACTS.items() if lacks(run, name)]
    clock = _imported_clock(run)
    remarks = []
    if clock != "wall":
        remarks.append(
            f"its times are not real seconds ({_CLOCKS.get(clock, 'not known')}), so it is never compared "
            "with measured runs"
        )
    elif assumed and has_measured:
        remarks.append(
            f"its source does not state its {', '.join(assumed)}: they are assumed to be those of the other "
            "runs"
        )
    elif assumed:
        remarks.append(f"its source does not state its {', '.join(assumed)}")
    if lacks(run, "method_seconds"):
        remarks.append("the time of the method itself is not known, and counts as idle or as training")
    return tuple(remarks)


def _result(runs: Sequence[Run]) -> str:
    """The result of an imported method on a task, which is in no table if the method is not compared."""
    best = min((run.incumbents.losses[-1] for run in runs if run.incumbents.losses), default=None)
    metric = runs[0].header.metric_facts
    score = "no result" if best is None else f"{metric.title} {metric.to_score(best):.5g}"
    return f"it has {score} after {max(run.n_trials for run in runs)} trials"
