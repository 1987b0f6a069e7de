"""What it costs that a method is a program of its own: the bare round trips, as its runs measured them.

A trial takes two, one to ask and one to tell. They are part of the method's overhead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

PER_TRIAL = 2


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """Those of one method's runs."""

    command: str
    seconds: float  # of one: the median over runs
    share: float | None  # of the time: the mean over runs; None on the virtual clock, where they take no time

    def in_words(self, method: str) -> str:
        trips = f"{PER_TRIAL} bare round trips a trial of {_milliseconds(self.seconds)} each"
        if self.share is None:
            return f"{method} is a program of its own: the virtual clock does not count its {trips}."
        return (
            f"{method} is a program of its own, and {trips} are part of its overhead: "
            f"{self.share:.2%} of the time."
        )


def round_trips(runs: Iterable[tuple[Mapping[str, Any], int, float]]) -> RoundTrips | None:
    """From the header, the trials and the seconds of each run; None if no run is of a program of its own."""
    found = [
        (header["program"], header["spec"].get("clock"), trials, seconds)
        for header, trials, seconds in runs
        if "round_trip_seconds" in header.get("program", {})
    ]
    if not found:
        return None
    shares = [
        min(PER_TRIAL * trials * program["round_trip_seconds"] / seconds, 1.0)
        for program, clock, trials, seconds in found
        if clock != "virtual" and seconds > 0
    ]
    return RoundTrips(
        command=str(found[0][0].get("command", "")),
        seconds=median(program["round_trip_seconds"] for program, *_ in found),
        share=fmean(shares) if shares else None,
    )


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.{0 if seconds >= 0.01 else 2}f} ms"
