"""Specs of runs that are done in a moment, on the virtual clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cfo_bench.optimizers import METHODS
from cfo_bench.records import RunSpec

# The fixture `run` of tests/run: the records of a spec and, if it is resumed, its past.
Run = Callable[..., list[Any]]


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
