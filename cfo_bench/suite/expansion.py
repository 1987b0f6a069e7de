"""From a suite to its runs: every (learner, task, method, fold, seed) becomes one RunSpec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import product
from typing import Any

from cfo_bench import tasks
from cfo_bench.errors import UnknownNameError, UserError, at_place
from cfo_bench.learners import LEARNERS
from cfo_bench.records import DataRef, Problem, RunSpec, check_recording, run_id
from cfo_bench.registry import is_users_code
from cfo_bench.settings import DEFAULT_N_FOLDS, Settings
from cfo_bench.suite.choices import Choice, Pick
from cfo_bench.suite.model import Suite, parse_folds

# --- the tasks, and the places of their data ------------------------------------------------------


def data_of(suite: Suite, offline: bool) -> dict[str, DataRef]:
    """The place of the data of each task. A task that is named twice is one task."""
    refs = [*selected(suite, offline), *own_data(suite)]
    if not refs:
        raise UserError("no task: give --task (see cfo-bench tasks), or --data with --target")
    data: dict[str, DataRef] = {}
    for ref in refs:
        if data.setdefault(ref.task, ref) != ref:
            raise UserError(
                f"two tasks have the name {ref.task!r}, which is part of the path of their traces: "
                "rename the file, or use two commands, each with its own --results"
            )
    return data


def own_data(suite: Suite) -> list[DataRef]:
    """The user's own file as a task, if the suite has one."""
    if suite.data_file is not None:
        if suite.target is None:
            raise UserError(f"--data {suite.data_file} needs --target: the name of the column to predict")
        problem = Problem(suite.problem) if suite.problem else None
        ref = tasks.file_ref(
            suite.data_file,
            suite.target,
            problem,
            suite.drop,
            suite.drop_missing_target,
            suite.split,
            suite.weight,
        )
        return [ref]
    for value, flag in (
        (suite.target, f"--target {suite.target}"),
        (suite.problem, f"--problem {suite.problem}"),
        (suite.drop, f"--drop {' '.join(suite.drop)}"),
        (suite.drop_missing_target, "--drop-missing-target"),
        (suite.split, f"--split {suite.split}"),
        (suite.weight, f"--weight {suite.weight}"),
    ):
        if value:
            raise UserError(f"{flag} is for a file of your own: give it with --data, or leave {flag} out")
    return []


def selected(suite: Suite, offline: bool) -> list[DataRef]:
    """The tasks that the suite picks, without those that it excludes."""
    excluded = {ref.task for pick in suite.exclude for ref in _picked(pick, suite, offline)}
    picked = [ref for pick in suite.tasks for ref in _picked(pick, suite, offline)]
    left = [ref for ref in picked if ref.task not in excluded]
    if picked and not left:
        with at_place(suite.exclude[0].place):
            raise UserError(f"exclude leaves out all {len(picked)} tasks: name fewer under it")
    return left


def _picked(pick: Pick, suite: Suite, offline: bool) -> list[DataRef]:
    with at_place(pick.place):
        if pick.tags:
            return tasks.tagged(pick.tags, suite.data_dir, suite.task_tables, offline, suite.yahpo)
        return tasks.select(pick.word, suite.data_dir, suite.task_tables, offline, suite.yahpo)


# --- the runs -------------------------------------------------------------------------------------


def specs_of(
    suite: Suite,
    learners: Sequence[Choice],
    methods: Sequence[Choice],
    data: Mapping[str, DataRef],
    *,
    import_files: bool = True,
) -> list[RunSpec]:
    """Every run of the suite, with the options of each learner and method.

    The clock is virtual if the learner does not train. Without `import_files`, a learner of a local file is
    assumed to train. The methods take turns, fold by fold. A task has its official folds if these are known
    on this machine.
    """
    if suite.budget_seconds is None:
        raise UserError("the suite has no budget: write how long a run may take, as in 10m")
    specs: list[RunSpec] = []
    place = suite.places.get("folds", "")
    common: dict[str, Any] = {field.name: getattr(suite, field.name) for field in fields(Settings)}
    for learner, (task, ref) in product(learners, data.items()):
        common["learner_options"] = learner.options
        common["n_folds"] = suite.n_folds or tasks.official_folds(ref) or DEFAULT_N_FOLDS
        if ref.recorded_folds and common["n_folds"] != ref.recorded_folds:
            raise UserError(
                f"--n-folds {suite.n_folds}: {ref.recorded_folds} folds of task {task!r} were recorded: "
                "leave it out"
            )
        is_virtual = False
        if import_files or not is_users_code(learner.name):
            learner_class = LEARNERS.load(learner.name)
            is_virtual = bool(getattr(learner_class, "virtual", False))
            check_recording(learner.name, getattr(learner_class, "recording", None), ref)
        common["clock"] = suite.clock or ("virtual" if is_virtual else "wall")
        with at_place(place):
            folds = parse_folds(suite.folds, common["n_folds"], "folds" if place else "--folds")
        specs += [
            RunSpec(
                learner.name, task, method.name, fold, seed, method.variant, options=method.options, **common
            )
            for seed, fold, method in product(suite.seeds, folds, methods)
        ]
    return specs


# --- some of the runs -----------------------------------------------------------------------------


def tasks_of(ids: Sequence[str], specs: Sequence[RunSpec]) -> set[str]:
    """The tasks of the runs with these ids. Their folds are not checked: they may not be known yet."""
    task_of = {run_id(spec).rpartition("/")[0]: spec.task for spec in specs}
    for wanted in ids:
        if wanted.rpartition("/")[0] not in task_of:
            raise UnknownNameError("run", wanted, map(run_id, specs))
    return {task_of[wanted.rpartition("/")[0]] for wanted in ids}


def narrowed(specs: Sequence[RunSpec], ids: Sequence[str], shard: tuple[int, int] | None) -> list[RunSpec]:
    """The runs with these ids, or all runs. For the shard (k, n), every n-th of them from the k-th on."""
    by_id = {run_id(spec): spec for spec in specs}
    for wanted in ids:
        if wanted not in by_id:
            raise UnknownNameError("run", wanted, by_id)
    kept = [by_id[wanted] for wanted in dict.fromkeys(ids)] if ids else list(specs)
    return kept[shard[0] - 1 :: shard[1]] if shard else kept


def parse_shard(text: str) -> tuple[int, int]:
    """`3/20`: the third of twenty."""
    first, _, last = text.partition("/")
    if first.isdecimal() and last.isdecimal() and len(text) < 20 and 1 <= int(first) <= int(last):
        return int(first), int(last)
    raise UserError(f"--shard {text!r}: write K/N with K from 1 to N, as in 3/20")
