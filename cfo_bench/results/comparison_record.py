"""The record of `cfo-bench compare` in its results folder: the request, the plan, and the verdict.

The same command reads it to execute the missing runs, and `cfo-bench best` reads it to use the recommended
model.
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

# It does not have the suffix of a trace, because every file with that suffix is read as a trace.
FILE_NAME = "compare.plan"

_Names = Annotated[tuple[str, ...], Meta(min_length=1)]


class ComparisonPlan(msgspec.Struct, frozen=True):
    """The runs of a comparison: each method tunes each learner on each fold.

    Attributes
    ----------
    learners, methods
        Their names.
    folds
        The number of started folds. After the last fold of a split comes the first of the next split.
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
        """Writes the file. If the folder is not writable, its first run reports this."""
        with suppress(OSError):
            results.mkdir(parents=True, exist_ok=True)
            write_whole(results / FILE_NAME, msgspec.json.encode(self))


def read_record(results: Path) -> ComparisonRecord | None:
    """The record in a results folder; None if there is none, or if the file is not a record."""
    try:
        return msgspec.json.decode(read_regular(results / FILE_NAME), type=ComparisonRecord)
    except (OSError, *DECODE_ERRORS):
        return None
