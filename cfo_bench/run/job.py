"""What an engine hands out: one run to be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfo_bench.records import DataRef, RunSpec
from cfo_bench.results.schema import DataIdentity


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be done, with all that its process needs to know."""

    # What the run does.
    spec: RunSpec
    # Where this machine loads the task's data from.
    data: DataRef
    # The facts that identify the data; None: not known.
    data_identity: DataIdentity | None = field(default=None, kw_only=True)
    # Where the trace is written; the run's other files lie beside it.
    trace_path: Path
    # What the header says of the machine and the packages.
    provenance: Mapping[str, Any] = field(default_factory=dict)
    # The data as the user named it, where `data` is a copy of it; None: `data` itself.
    given: DataRef | None = None
    # False: the method can't be resumed, so that an interrupted run starts again.
    replays: bool = True
