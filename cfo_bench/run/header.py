"""The first line of a trace: everything needed to do the run again, and to trust it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cfo_bench.clock import utc_now
from cfo_bench.learners import LEARNERS
from cfo_bench.machine import contention
from cfo_bench.optimizers import METHODS
from cfo_bench.records import DataRef, Fold, Learner, RunSpec, TaskFacts
from cfo_bench.registry import default_options
from cfo_bench.results.identity import data_identity, spec_header
from cfo_bench.run.job import Job
from cfo_bench.space import Config, Space
from cfo_bench.suite.command import command_line


def header_of(
    job: Job, learner: Learner, fold: Fold, facts: TaskFacts, space: Space, start: Config
) -> dict[str, Any]:
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


def reproducing_command(spec: RunSpec, data: DataRef) -> str:
    """The command that does this run again, with the options that a person would have to give."""
    methods = default_options(METHODS.load(spec.method))
    learners = default_options(LEARNERS.load(spec.learner))
    given = replace(
        spec,
        options={k: v for k, v in spec.options.items() if k != "parallel" and methods.get(k) != v},
        learner_options={k: v for k, v in spec.learner_options.items() if learners.get(k) != v},
    )
    return command_line(given, data)
