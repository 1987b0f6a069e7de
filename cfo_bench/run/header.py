"""The first line of a trace: everything needed to do the run again, and to trust it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cfo_bench.clock import utc_now
from cfo_bench.learners import LEARNERS
from cfo_bench.machine import contention
from cfo_bench.optimizers import METHODS
from cfo_bench.records import DataRef, Fold, Learner, RunSpec, TaskFacts
from cfo_bench.registry import Registry, default_options, is_users_code, label
from cfo_bench.results.identity import data_identity, spec_header
from cfo_bench.run.job import Job
from cfo_bench.space import Config, Space
from cfo_bench.suite.command import command_line


def header_of(
    job: Job,
    learner: Learner,
    fold: Fold,
    facts: TaskFacts,
    space: Space,
    start: Config,
    seed: int,
    program: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The header of a run, once its data is loaded and its learner built.

    `seed` is the method's, and `program` the facts of a method that is a program of its own.
    """
    method = METHODS.load(job.spec.method)
    return {
        **spec_header(job.spec),
        "changed_options": _changed(job.spec.options, default_options(method)),
        "knows_budget": bool(getattr(method, "knows_budget", False)),
        "method_seed": seed,
        "space": space.to_json(),
        "start": start,
        **({"program": dict(program)} if program else {}),
        "cost_related": list(learner.cost_related),
        "problem": facts.problem,
        "metric": facts.metric,
        "constant_loss": fold.constant_loss,
        **_recorded(fold),
        "data": {
            "source": facts.source,
            **data_identity(facts),
            "rows": facts.n_rows,
            "features": facts.n_features,
            "classes": facts.n_classes,
            "train_rows": fold.n_rows,
            "validation_rows": len(fold.valid_y),
            "folds": facts.folds_source,
            "test_rows": 0 if fold.test_y is None else len(fold.test_y),
            **_of_recording(fold, facts),
        },
        "utc": utc_now(),
        "command": reproducing_command(job.spec, job.given or job.data),
        **job.provenance,
        "machine": {**job.provenance.get("machine", {}), **contention.at_start()},
    }


def _recorded(fold: Fold) -> dict[str, Any]:
    """The least loss that there is, where a recording knows it."""
    optimum = None if fold.recording is None else fold.recording.optimum
    return {} if optimum is None else {"optimum": optimum}


def _of_recording(fold: Fold, facts: TaskFacts) -> dict[str, Any]:
    if fold.recording is None:
        return {}
    paper_task = {"paper_task": facts.paper_task} if facts.paper_task else {}
    return {"recording": facts.recording, "resource_rows": fold.recording.full_rows, **paper_task}


def method_seed(spec: RunSpec) -> int:
    """The seed of the method: another one for each learner, task, fold and seed.

    With one seed for all tasks, a method would draw the same directions on each, and what it reaches on
    several tasks would not be independent. A learner in a file counts by its class, wherever the file is.
    """
    names = hashlib.sha256(f"{label(spec.learner)}\0{spec.task}".encode()).digest()
    return int(np.random.SeedSequence([spec.seed, spec.fold, *names]).generate_state(1)[0])


def reproducing_command(spec: RunSpec, data: DataRef, *, import_files: bool = True) -> str:
    """The command that does this run again, with the options that a person would have to give.

    Without `import_files`, the user's own code is not loaded: each of its options was given.
    """

    def defaults(registry: Registry, name: str) -> dict[str, Any]:
        return default_options(registry.load(name)) if import_files or not is_users_code(name) else {}

    given = replace(
        spec,
        options=_changed(spec.options, defaults(METHODS, spec.method)),
        learner_options=_changed(spec.learner_options, defaults(LEARNERS, spec.learner)),
    )
    return command_line(given, data)


def _changed(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not the defaults. The number of trials at once is a setting of the run."""
    return {
        key: value
        for key, value in options.items()
        if key != "parallel" and not (key in defaults and defaults[key] == value)
    }
