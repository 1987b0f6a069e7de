"""Cores and memory: what a machine offers to runs, what each run needs, and which run is next."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cfo_bench import machine
from cfo_bench.errors import UserError
from cfo_bench.records import RunSpec
from cfo_bench.values import duration

# The share of the memory for runs. The rest is for the system, and for what a run needs besides its trials.
_MEMORY_FOR_RUNS = 0.9
# A run that was skipped this often because it did not fit goes next: no other run starts before it.
_MAX_SKIPPED = 8


@dataclass(frozen=True, slots=True)
class Capacity:
    """Cores and memory."""

    cores: int
    memory_mb: int

    def __add__(self, other: Capacity) -> Capacity:
        return Capacity(self.cores + other.cores, self.memory_mb + other.memory_mb)

    def __sub__(self, other: Capacity) -> Capacity:
        return Capacity(self.cores - other.cores, self.memory_mb - other.memory_mb)

    def holds(self, other: Capacity) -> bool:
        return self.cores >= other.cores and self.memory_mb >= other.memory_mb

    def __str__(self) -> str:
        return f"{self.cores} core{'s' * (self.cores != 1)} and {self.memory_mb} MB"


def of_machine() -> Capacity:
    return Capacity(machine.cores(), int(machine.total_memory_mb() * _MEMORY_FOR_RUNS))


def needs(spec: RunSpec) -> Capacity:
    trials = _processes(spec)
    return Capacity(spec.threads * trials, (spec.memory_mb or 0) * trials)


def _processes(spec: RunSpec) -> int:
    """The number of processes for trials; on the virtual clock, one process evaluates all of them in turn."""
    return 1 if spec.clock == "virtual" else spec.parallel


def with_memory(specs: Sequence[RunSpec], have: Capacity, side_by_side: int) -> list[RunSpec]:
    """Give a run without a memory limit an equal share, divided among its parallel trials."""
    share = have.memory_mb // max(side_by_side, 1)
    return [
        replace(spec, memory_mb=max(share // _processes(spec), 1)) if spec.memory_mb is None else spec
        for spec in specs
    ]


def at_once(specs: Sequence[RunSpec], have: Capacity) -> int:
    """The number of runs that fit on the machine at the same time, at least 1."""
    count, left = 0, have
    for needed in sorted(
        (needs(spec) for spec in specs), key=lambda capacity: (capacity.cores, capacity.memory_mb)
    ):
        if not left.holds(needed):
            break
        count, left = count + 1, left - needed
    return max(count, 1)


def price(specs: Sequence[RunSpec], side_by_side: int, who: str, have: Capacity | None) -> str:
    """The hours, cores and memory that all runs need, for `--dry-run`.

    `who` names what executes the runs in parallel, such as "--jobs {}". Runs without a memory limit share the
    capacity that we `have`, if it is known.
    """
    seconds = sum(spec.budget_seconds for spec in specs)
    is_virtual = all(spec.clock == "virtual" for spec in specs)
    kind = "virtual time" if is_virtual else "budget"
    hours = f"{len(specs)} run{'s' * (len(specs) != 1)}, {duration(seconds)} of {kind} in all"
    at_once = max(min(side_by_side, len(specs)), 1)
    if is_virtual and specs:
        hours += "; it is recorded or computed, and only the methods themselves take real time"
    elif at_once > 1:
        hours += f", {duration(seconds / at_once)} with {who.format(at_once)}"
    if not specs:
        return hours
    first = specs[0]  # all runs of a suite need the same
    [fitted] = [first] if have is None else with_memory([first], have, at_once)
    each = needs(fitted)
    whose = " a fair share of this machine," if first.memory_mb is None else ""
    memory = (
        f"{at_once} × {each.memory_mb} MB = {at_once * each.memory_mb} MB of memory,{whose} besides the data"
        if each.memory_mb
        else "and a fair share of its worker's memory for each"
    )
    cores = at_once * each.cores
    return f"{hours}\n{at_once} at a time: {cores} core{'s' * (cores != 1)}, {memory}"


def check_each_fits(specs: Sequence[RunSpec], have: Capacity) -> None:
    for spec in specs:
        needed = needs(spec)
        times = f" with --parallel {spec.parallel}" if _processes(spec) > 1 else ""
        if needed.cores > have.cores:
            raise UserError(
                f"--threads {spec.threads}{times}: this machine has {have.cores} "
                f"core{'s' * (have.cores != 1)}; give fewer, or --oversubscribe"
            )
        if needed.memory_mb > have.memory_mb:
            raise UserError(
                f"--memory {spec.memory_mb}{times}: this machine has {have.memory_mb} MB for runs; "
                "give less, or --oversubscribe"
            )


class Queue:
    """Runs that wait for capacity, longest first. A smaller run may overtake a larger one that does not fit.

    Runs are identified by their index in `specs`. Without `have`, only their number is limited.
    """

    def __init__(self, specs: Sequence[RunSpec], side_by_side: int, have: Capacity | None) -> None:
        self._specs, self._side_by_side = specs, side_by_side
        self._is_limited, self._left = have is not None, have or Capacity(0, 0)
        self._waiting: list[tuple[float, int]] = []
        self._running: set[int] = set()
        self._skipped = dict.fromkeys(range(len(specs)), 0)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, index: int) -> None:
        insort(self._waiting, (-self._specs[index].budget_seconds, index))

    def take(self) -> int | None:
        """Remove and return the run that may start now; None if no run may."""
        if not self._waiting or len(self._running) >= self._side_by_side:
            return None
        for place, (_, index) in enumerate(self._waiting):
            needed = needs(self._specs[index])
            if not self._is_limited or self._left.holds(needed):
                for _, before in self._waiting[:place]:
                    self._skipped[before] += 1
                del self._waiting[place]
                self._running.add(index)
                self._left -= needed
                return index
            if self._skipped[index] >= _MAX_SKIPPED:
                return None
        return None

    def release(self, index: int) -> None:
        """Free the capacity of a run that has ended or was stopped."""
        if index in self._running:
            self._running.remove(index)
            self._left += needs(self._specs[index])
