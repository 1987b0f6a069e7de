"""A suite on surrogates: each learner is replaced by its surrogate, and no task needs its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cfo_bench import tasks
from cfo_bench.errors import UnknownNameError, UserError, at_place
from cfo_bench.optimizers import METHODS
from cfo_bench.recordings.surrogate_file import SurrogateFile, read
from cfo_bench.records import DataRef, Problem
from cfo_bench.registry import folded, is_in_file, label
from cfo_bench.suite.choices import Choice, Pick
from cfo_bench.suite.model import DEFAULTS, Suite

FAMILY = "surrogate"


@dataclass(frozen=True, slots=True)
class OnSurrogate:
    """A suite whose learners are surrogates, and its tasks."""

    suite: Suite
    data: dict[str, DataRef]
    left_out: tuple[str, ...]  # reference methods: they would train on data


def on_surrogate(suite: Suite, path: Path, offline: bool) -> OnSurrogate:
    """The same suite on the surrogates of a file. If it names no tasks, it gets all tasks of the file."""
    file = read(path)
    learners = tuple(_surrogate_of(choice, file) for choice in _chosen(suite, file))
    names = [choice.name.partition(":")[2] for choice in learners]
    known = [task for task in file.tasks(names[0]) if all(task in file.tasks(name) for name in names)]
    picked = [task for pick in suite.tasks for task in _picked(pick, known, names, suite, offline)]
    excluded = {task for pick in suite.exclude for task in _named(pick, known, suite, offline)}
    left = [task for task in dict.fromkeys(picked if suite.tasks else known) if task not in excluded]
    if not left:
        raise UserError(
            f"no task is left: the surrogate {path} has {', '.join(known) or 'none'} for {', '.join(names)}"
        )
    kept = tuple(choice for choice in suite.methods if not _is_reference(choice))
    if not kept:
        raise UserError("all methods of the suite train on data, and a surrogate has none: give --method")
    return OnSurrogate(
        replace(suite, learners=learners, methods=kept),
        {task: _ref(file, names[0], task) for task in left},
        tuple(choice.name for choice in suite.methods if _is_reference(choice)),
    )


def _chosen(suite: Suite, file: SurrogateFile) -> Sequence[Choice]:
    """The learners of the suite; if it names none, all learners of the file."""
    if suite.learners != DEFAULTS.learners:
        return suite.learners
    return [Choice(name) for name in file.learners]


def _surrogate_of(choice: Choice, file: SurrogateFile) -> Choice:
    name = label(choice.name).removeprefix(f"{FAMILY}:")
    with at_place(choice.place):
        if name not in file.learners:
            raise UnknownNameError(f"learner of the surrogate {file.path}", name, file.learners)
        _check_options(name, choice.options, file)
    return Choice(f"{FAMILY}:{name}", {"surrogate_file": file.path}, places=choice.places)


def _check_options(name: str, options: Mapping[str, Any], file: SurrogateFile) -> None:
    recorded = file.of(name, file.tasks(name)[0]).learner_options
    for key, value in options.items():
        if key in recorded and recorded[key] != value:
            raise UserError(
                f"option {key} of learner {name!r} is {value!r}, and {recorded[key]!r} in the traces of the "
                f"surrogate {file.path}: leave it out"
            )


def _picked(
    pick: Pick, known: Sequence[str], learners: Sequence[str], suite: Suite, offline: bool
) -> list[str]:
    with at_place(pick.place):
        named = _named(pick, known, suite, offline)
        if not named:
            what = pick.word or " ".join(pick.tags)
            raise UnknownNameError(f"task of the surrogate for {', '.join(learners)}", what, known)
        return named


def _named(pick: Pick, known: Sequence[str], suite: Suite, offline: bool) -> list[str]:
    """The tasks of the surrogate that a name, a pattern or a tag selects."""
    if not pick.tags:
        alike = [task for task in known if folded(task) == folded(pick.word)]
        if pick.word in known or len(alike) == 1:
            return [pick.word] if pick.word in known else alike
        if set("*?[") & set(pick.word):
            return [task for task in known if fnmatchcase(task.casefold(), pick.word.casefold())]
    try:
        refs = (
            tasks.tagged(pick.tags, suite.data_dir, suite.task_tables, offline)
            if pick.tags
            else tasks.select(pick.word, suite.data_dir, suite.task_tables, offline)
        )
    except UserError:
        return []
    return [ref.task for ref in refs if ref.task in known]


def _is_reference(choice: Choice) -> bool:
    return not is_in_file(choice.name) and METHODS.row(choice.name).learner is not None


def _ref(file: SurrogateFile, learner: str, task: str) -> DataRef:
    surrogate = file.of(learner, task)
    problem = Problem(surrogate.problem)
    return DataRef(task, FAMILY, file.path, problem=problem, recorded_folds=surrogate.n_folds)
