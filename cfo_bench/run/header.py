"""The first line of a trace: everything needed to do the run again, and to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cfo_bench.clock import utc_now
from cfo_bench.learners import LEARNERS
from cfo_bench.machine import contention
from cfo_bench.optimizers import METHODS
from cfo_bench.records import DataRef, Fold, Learner, RunSpec, TaskFacts
from cfo_bench.registry import Registry, default_options, is_in_file
from cfo_bench.results.identity import data_identity, spec_header
from cfo_bench.run.job import Job
from cfo_bench.space import Config, Space
from cfo_bench.suite.command import command_line


def header_of(
    job: Job, learner: Learner, fold: Fold, facts: TaskFacts, space: Space, start: Config
) -> dict[str, Any]:
    """The header of a run, once its data is loaded and its learner built."""
    return {
        **spec_header(job.spec),
        "method_seed": method_seed(job.spec),
        "space": space.to_json(),
        "start": start,
        "cost_related": list(learner.cost_related),
        "problem": facts.problem,
        "metric": facts.metric,
        "constant_loss": fold.constant_loss,
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
        },
        "utc": utc_now(),
        "command": reproducing_command(job.spec, job.given or job.data),
        **job.provenance,
        "machine": {**job.provenance.get("machine", {}), **contention.at_start()},
    }


def method_seed(spec: RunSpec) -> int:
    """The seed of the method: another one for each fold, so that it does not draw the same on all of them."""
    return int(np.random.SeedSequence([spec.seed, spec.fold]).generate_state(1)[0])


def reproducing_command(spec: RunSpec, data: DataRef, *, import_files: bool = True) -> str:
    """The command that does this run again, with the options that a person would have to give.

    Without `import_files`, a class in a local file is not loaded: each of its options was given.
    """

    def defaults(registry: Registry, name: str) -> dict[str, Any]:
        return default_options(registry.load(name)) if import_files or not is_in_file(name) else {}

    methods, learners = defaults(METHODS, spec.method), defaults(LEARNERS, spec.learner)
    given = replace(
        spec,
        options={
            key: value
            for key, value in spec.options.items()
            if key != "parallel" and not _is_default(methods, key, value)
        },
        learner_options={
            key: value for key, value in spec.learner_options.items() if not _is_default(learners, key, value)
        },
    )
    return command_line(given, data)


def _is_default(defaults: Mapping[str, Any], key: str, value: object) -> bool:
    return key in defaults and defaults[key] == value
