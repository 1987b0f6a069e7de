"""The workers of a cluster: which of them can be used, and which one takes the next run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cfo_bench import __version__
from cfo_bench.clock import monotonic
from cfo_bench.engines import capacity
from cfo_bench.engines.capacity import Capacity
from cfo_bench.engines.dask import remote
from cfo_bench.records import RunSpec

# How long larger workers are waited for when a run has room on none.
UNFIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A worker's answer when it is asked what it has for runs: that, or why it can't do any."""

    address: str
    folder: str
    answer: dict[str, Any] | str | Exception


class Crew:
    """A worker is known by its address and its folder: one that is started again has another folder."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._folders: dict[str, str] = {}  # of all that were asked to enrol
        self._usable: dict[str, Capacity] = {}
        self._silent: set[str] = set()
        self._joined_at = monotonic()

    def clear(self) -> None:
        self._folders.clear()
        self._usable.clear()
        self._silent.clear()

    def meet(self, found: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Of the workers that there are now, the addresses of the new ones, and of those that are gone."""
        gone = [address for address, folder in self._folders.items() if found.get(address) != folder]
        for address in gone:
            del self._folders[address]
            self._usable.pop(address, None)
            self._silent.discard(address)
        new = [address for address in found if address not in self._folders]
        self._folders.update((address, found[address]) for address in new)
        return new, gone

    def enrol(self, news: Enrolled) -> None:
        """Takes a worker on that has the same cfo-bench as we; of one that hasn't, that is said."""
        address, answer = news.address, news.answer
        if self._folders.get(address) != news.folder:
            return  # it is gone already
        remedy = f"install cfo-bench {__version__} where it runs; until then it is not used"
        if isinstance(answer, Exception):
            del self._folders[address]  # to be asked again, if it is still there
        elif isinstance(answer, str):
            self._say(f"worker {address} can't import cfo-bench ({answer}): {remedy}")
        elif answer["version"] != __version__:
            self._say(f"worker {address} has cfo-bench {answer['version']}: {remedy}")
        else:
            self._usable[address] = Capacity(answer[remote.THREADS], answer[remote.MEMORY])
            self._joined_at = monotonic()

    def is_silent(self, address: str) -> None:
        """Not to be used until it is heard of."""
        self._silent.add(address)

    def is_heard(self, address: str) -> None:
        self._silent.discard(address)

    def free(self, taken: Iterable[tuple[str, Capacity]]) -> dict[str, Capacity]:
        """What is left of each usable worker, given what runs take of which."""
        left = {address: have for address, have in self._usable.items() if address not in self._silent}
        for address, room in taken:
            if address in left:
                left[address] -= room
        return left

    def place(self, spec: RunSpec, free: Mapping[str, Capacity]) -> tuple[str, RunSpec] | None:
        """The worker with the most free cores that has room for the run, and the run as it is there."""
        fitting = []
        for address, left in free.items():
            fitted = _with_memory(spec, self._usable[address])
            if left.holds(capacity.needs(fitted)):
                fitting.append((left.cores, address, fitted))
        if not fitting:
            return None
        _, address, fitted = max(fitting, key=lambda one: one[0])
        return address, fitted

    def lack_of_room(self, spec: RunSpec) -> str | None:
        """Why the run will never start on these workers; None if it may, or others have just joined."""
        if not self._usable or monotonic() - self._joined_at < UNFIT_SECONDS:
            return None
        if any(have.holds(capacity.needs(_with_memory(spec, have))) for have in self._usable.values()):
            return None
        largest = max(self._usable.values(), key=lambda have: (have.cores, have.memory_mb))
        needed = capacity.needs(_with_memory(spec, largest))
        return (
            f"it takes {needed}, and the largest worker has {largest}: start larger workers, "
            "or ask for less with --threads, --parallel or --memory"
        )


def _with_memory(spec: RunSpec, worker: Capacity) -> RunSpec:
    """Where none was asked for, the share of the worker's memory that the run takes of its threads."""
    side_by_side = worker.cores // capacity.needs(spec).cores
    [fitted] = capacity.with_memory([spec], worker, side_by_side)
    return fitted
