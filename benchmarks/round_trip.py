"""Time of the messages to a separate program: ask and tell of CFO and of examples/hill_climb.py.

Prints the bare round trip, and the time of an ask and a tell, in microseconds.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.figures import figure
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Result
from cfo_bench.testing.searches import SPACES, loss

CLIENT = Path(__file__).resolve().parents[1] / "examples" / "hill_climb.py"


def trial_seconds(method: Any, trials: int = 300) -> float:
    """The median of an ask and a tell together."""
    seconds = []
    for _ in range(trials):
        began = perf_counter()
        trial = method.ask()
        asked = perf_counter()
        value = loss(trial.config)
        telling = perf_counter()
        method.tell(trial, Result.ok(value))
        seconds.append(asked - began + perf_counter() - telling)
    return median(seconds)


def main() -> None:
    space, start = SPACES["mixed"]
    program: Any = METHODS.load(f"exec:{shlex.join([sys.executable, str(CLIENT)])}")(space, start, 0)
    figure("empty message and its answer", 1e6 * program.program_facts["round_trip_seconds"], "µs")
    figure("ask + tell of a program", 1e6 * trial_seconds(program), "µs")
    figure("ask + tell of cfo", 1e6 * trial_seconds(METHODS.load("cfo")(space, start, 0)), "µs")


if __name__ == "__main__":
    main()
