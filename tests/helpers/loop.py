"""Running a loop of trials to its end."""

from __future__ import annotations

from cfo_bench.records import EndReason
from cfo_bench.results.schema import TrialRecord
from cfo_bench.run.loop import Records


def drain(records: Records) -> tuple[list[TrialRecord], EndReason]:
    """All records of a loop, and why it ended."""
    found = []
    while True:
        try:
            found.append(next(records))
        except StopIteration as stop:
            return found, stop.value
