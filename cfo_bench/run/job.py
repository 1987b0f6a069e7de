"""A job: one run to execute, with everything that its process needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfo_bench.records import DataRef, RunSpec
from cfo_bench.results.schema import DataIdentity, OwnCode


@dataclass(frozen=True, slots=True)
class Job:
    """One run to execute, as an engine receives it.

    Parameters
    ----------
    spec
        What the run does.
    data
        Where this machine loads the task's data from.
    trace_path
        The path of the trace; the run's other files are beside it.
    provenance
        The facts about the machine and the packages, for the header of the trace.
    given
        The data as the user named it, if `data` is a copy of it; None: `data` itself.
    replays
        False if the method can't be resumed, so that an interrupted run starts again.
    data_identity
        The facts that identify the data; None if they are not known.
    own_code
        The content of the local files that the spec names; None if it names none, or it is not known.
    """

    spec: RunSpec
    data: DataRef
    data_identity: DataIdentity | None = field(default=None, kw_only=True)
    own_code: OwnCode | None = field(default=None, kw_only=True)
    trace_path: Path
    provenance: Mapping[str, Any] = field(default_factory=dict)
    given: DataRef | None = None
    replays: bool = True
