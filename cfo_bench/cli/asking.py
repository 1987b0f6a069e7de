"""What was asked for: a suite's file with what the command line says in its place, and the runs it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click

from cfo_bench import tasks
from cfo_bench.cli.options import Chosen, parse_values
from cfo_bench.errors import UnknownNameError, UserError, told_at
from cfo_bench.records import DataRef, Problem, RunSpec
from cfo_bench.results.trace import run_id
from cfo_bench.suite.file import find, read
from cfo_bench.suite.model import DEFAULT_N_FOLDS, DEFAULTS, Choice, Cluster, Pick, Suite, expand, parse_folds


def suite_of(file: str | None, asked: Mapping[str, Any]) -> Suite:
    """The suite of a file or the defaults, each key that the command line gives taken from there."""
    suite = read(find(file)) if file is not None else DEFAULTS
    names = [each.name for each in fields(Suite)]
    given: dict[str, Any] = {name: asked[name] for name in names if asked.get(name) not in (None, ())}
    if "methods" in given:
        given["methods"] = _named(given["methods"], suite.methods)
    if "learners" in given:
        given["learners"] = _named(given["learners"], suite.learners)
    if "seeds" in given:
        given["seeds"] = tuple(dict.fromkeys(given["seeds"]))
    if "tasks" in given or asked.get("data_file") is not None:
        given["tasks"] = tuple(Pick(word) for word in given.get("tasks", ()))
        given["exclude"] = ()
    places = {name: place for name, place in suite.places.items() if name not in given}
    suite = _on_engine(replace(suite, **given, places=places), asked)
    for name, flag in (("methods", "--method"), ("budget_seconds", "--budget")):
        if not getattr(suite, name):
            remedy = f" (or {name.partition('_')[0]}: in {file})" if file is not None else ""
            raise click.UsageError(f"missing option '{flag}'{remedy}", click.get_current_context(silent=True))
    return suite


def _named(names: Sequence[str], known: Sequence[Choice]) -> tuple[Choice, ...]:
    """With the options that the file has for them."""
    of_file = {choice.name: choice for choice in known}
    return tuple(of_file.get(name, Choice(name)) for name in names)


def _on_engine(suite: Suite, asked: Mapping[str, Any]) -> Suite:
    """`--scheduler` and `--cluster` imply Dask; what is meant for the other engine is a mistake."""
    kind, scheduler, workers = (asked.get(name) for name in ("cluster_kind", "scheduler", "workers"))
    options = asked.get("cluster_options") or ()
    if asked.get("engine") is None and (kind or scheduler):
        suite = replace(suite, engine="dask")
    if suite.engine == "local":
        if workers is not None:
            raise UserError(
                f"--workers {workers} counts the workers of a cluster: give --jobs for runs side by side on "
                "this machine, --parallel for trials at once in a run, or --engine dask"
            )
        for flag, value in (("--cluster", kind), ("--scheduler", scheduler), ("--cluster-option", options)):
            if value:
                raise UserError(f"{flag} is for a Dask cluster: leave it out, or give --engine dask")
        return suite
    if asked.get("jobs") is not None:
        raise UserError(
            f"--jobs {asked['jobs']} counts runs side by side on this machine: on a cluster give --workers"
        )
    if asked.get("oversubscribe"):
        raise UserError("--oversubscribe is for this machine: a Dask worker never takes more than it has")
    cluster = suite.cluster
    if scheduler is not None:
        if kind is not None:
            raise UserError(f"--scheduler joins a cluster, --cluster {kind} starts one: leave one out")
        cluster = Cluster("join", scheduler)
    elif kind is not None and kind != cluster.kind:
        cluster = Cluster(kind)
    return replace(
        suite,
        cluster=replace(
            cluster,
            workers=workers if workers is not None else cluster.workers,
            options={**cluster.options, **parse_values(options)},
        ),
    )


def data_of(
    suite: Suite, file: Path | None, target: str | None, problem: str | None, offline: bool
) -> dict[str, DataRef]:
    """Where the data of each task is; a task named twice is one task."""
    refs = selected(suite, offline)
    if file is not None:
        if target is None:
            raise UserError(f"--data {file} needs --target: the name of the column to predict")
        refs.append(tasks.file_ref(file, target, Problem(problem) if problem else None))
    elif target is not None or problem is not None:
        flag = f"--target {target}" if target is not None else f"--problem {problem}"
        raise UserError(f"{flag} says what to predict in --data: give a file, or leave it out")
    if not refs:
        raise UserError("nothing to learn: give --task (see cfo-bench tasks), or --data with --target")
    found: dict[str, DataRef] = {}
    for ref in refs:
        if found.setdefault(ref.task, ref) != ref:
            raise UserError(
                f"two tasks are called {ref.task!r}, and a task's traces go by its name: "
                "rename the file, or use two commands with a --results each"
            )
    return found


def selected(suite: Suite, offline: bool) -> list[DataRef]:
    """The tasks that the suite picks, but for those that it excludes."""
    excluded = {ref.task for pick in suite.exclude for ref in _picked(pick, suite, offline)}
    picked = [ref for pick in suite.tasks for ref in _picked(pick, suite, offline)]
    left = [ref for ref in picked if ref.task not in excluded]
    if picked and not left:
        raise UserError(f"{suite.exclude[0].place}: of {len(picked)} tasks, exclude leaves none")
    return left


def _picked(pick: Pick, suite: Suite, offline: bool) -> list[DataRef]:
    with told_at(pick.place):
        if pick.tags:
            return tasks.tagged(pick.tags, suite.data_dir, suite.task_tables, offline)
        return tasks.select(pick.word, suite.data_dir, suite.task_tables, offline)


def specs_of(suite: Suite, learners: Chosen, methods: Chosen, data: Mapping[str, DataRef]) -> list[RunSpec]:
    """Every run; the folds of a task are its official ones where they are known on this machine."""
    specs: list[RunSpec] = []
    place = suite.places.get("folds", "")
    for learner, options in learners:
        for task, ref in data.items():
            n_folds = suite.n_folds or tasks.official_folds(ref) or DEFAULT_N_FOLDS
            with told_at(place):
                folds = parse_folds(suite.folds, n_folds, "folds" if place else "--folds")
            specs += expand(
                [learner],
                [task],
                methods,
                folds,
                suite.seeds,
                budget_seconds=suite.budget_seconds,
                max_trials=suite.max_trials,
                learner_options=options,
                n_folds=n_folds,
                parallel=suite.parallel,
                threads=suite.threads,
                memory_mb=suite.memory_mb,
                trial_timeout_seconds=suite.trial_timeout_seconds,
                clock=suite.clock,
                validation=suite.validation,
                holdout_share=suite.holdout_share,
            )
    return specs


def tasks_of(ids: Sequence[str], specs: Sequence[RunSpec]) -> set[str]:
    """The tasks that runs of these ids are of, without a word on folds: those may not be known yet."""
    task_of = {run_id(spec).rpartition("/")[0]: spec.task for spec in specs}
    for one in ids:
        if one.rpartition("/")[0] not in task_of:
            raise UnknownNameError("run", one, map(run_id, specs))
    return {task_of[one.rpartition("/")[0]] for one in ids}


def narrowed(specs: Sequence[RunSpec], ids: Sequence[str], shard: tuple[int, int] | None) -> list[RunSpec]:
    """The runs of these ids, or all; and of them every n-th from the k-th, for the shard (k, n)."""
    by_id = {run_id(spec): spec for spec in specs}
    for one in ids:
        if one not in by_id:
            raise UnknownNameError("run", one, by_id)
    kept = [by_id[one] for one in dict.fromkeys(ids)] if ids else list(specs)
    return kept[shard[0] - 1 :: shard[1]] if shard else kept


def parse_shard(text: str) -> tuple[int, int]:
    """`3/20`: the third of twenty."""
    first, _, last = text.partition("/")
    if first.isdecimal() and last.isdecimal() and len(text) < 20 and 1 <= int(first) <= int(last):
        return int(first), int(last)
    raise UserError(f"--shard {text!r}: write K/N with K from 1 to N, as in 3/20")
