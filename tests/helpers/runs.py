"""Specs of runs that are done in a moment, on the virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from cfo_bench.optimizers import METHODS
from cfo_bench.records import RunSpec
from cfo_bench.results.run import Run
from cfo_bench.results.schema import Header, TrialRecord

# The fixture `run` of tests/run: the records of a spec and, if it is resumed, its past.
RunRecords = Callable[..., list[Any]]


def spec(method: str = "cfo", parallel: int = 1, **changes: Any) -> RunSpec:
    """60 trials of a synthetic learner."""
    options = METHODS.options(method, {})
    if "parallel" in options:
        options["parallel"] = parallel
    made = RunSpec(
        learner="synthetic",
        task="synthetic-1k",
        method=method,
        fold=0,
        budget_seconds=1e9,
        max_trials=60,
        options=options,
        parallel=parallel,
        clock="virtual",
    )
    return replace(made, **changes)


def cut_off(header: Header, trials: Sequence[TrialRecord]) -> Run:
    """The run as its trace has it after these trials."""
    return Run(Path("t.jsonl"), header, n_trials=len(trials), parsed=trials)


def with_settings(run: Run, **changes: Any) -> Run:
    """The same run with other settings."""
    header = msgspec.structs.replace(run.header, spec=replace(run.spec, **changes))
    return replace(run, header=header)
