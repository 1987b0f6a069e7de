"""The record of `cfo-bench compare` in its results folder: what was asked for, the plan, and the verdict.

The same command reads it to do what is missing, and `cfo-bench best` to take the model that was named.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from cfo_bench.files.writing import read_regular, write_whole
from cfo_bench.results.schema import DECODE_ERRORS

# It does not have the suffix of a trace, since every file with that is read as one.
FILE_NAME = "compare.plan"

_Names = Annotated[tuple[str, ...], Meta(min_length=1)]


class ComparisonPlan(msgspec.Struct, frozen=True):
    """The runs of a comparison: each method tunes each learner on each fold.

    Attributes
    ----------
    learners, methods
        Their names.
    folds
        The number of folds that were started. Those after the last fold of a split are of the next split.
    budget_seconds
        The budget of each run.
    """

    learners: _Names
    methods: _Names
    folds: Annotated[int, Meta(ge=1)]
    budget_seconds: Annotated[float, Meta(gt=0)]


class ComparisonVerdict(msgspec.Struct, frozen=True):
    """The candidate that a comparison named, and the sentence that names it."""

    task: str
    learner: str
    method: str
    sentence: str


class ComparisonRecord(msgspec.Struct, frozen=True):
    """The content of the file; without a verdict, the comparison has not finished."""

    asked: Mapping[str, Any]
    plan: ComparisonPlan
    verdict: ComparisonVerdict | None = None

    def write(self, results: Path) -> None:
        """Writes the file; a folder that can't be written to is reported by its first run."""
        with suppress(OSError):
            results.mkdir(parents=True, exist_ok=True)
            write_whole(results / FILE_NAME, msgspec.json.encode(self))


def read_record(results: Path) -> ComparisonRecord | None:
    """The record in a results folder; None if there is none, or if the file is not one."""
    try:
        return msgspec.json.decode(read_regular(results / FILE_NAME), type=ComparisonRecord)
    except (OSError, *DECODE_ERRORS):
        return None
