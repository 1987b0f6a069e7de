"""Which worker takes the next run, given what each offers and what our runs take of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cfo_bench.engines import capacity
from cfo_bench.engines.capacity import Capacity
from cfo_bench.records import RunSpec


class Placed(NamedTuple):
    worker: str  # its address
    spec: RunSpec  # with the memory that the run gets there


def free(rooms: Mapping[str, Capacity], taken: Iterable[tuple[str, Capacity]]) -> dict[str, Capacity]:
    """What is left of each worker, by its address."""
    left = dict(rooms)
    for address, room in taken:
        if address in left:
            left[address] -= room
    return left


def place(spec: RunSpec, rooms: Mapping[str, Capacity], left: Mapping[str, Capacity]) -> Placed | None:
    """The run on the worker with the most free cores that has room for it."""
    fitted = {address: with_memory(spec, rooms[address]) for address in left}
    fitting = [address for address, one in fitted.items() if left[address].holds(capacity.needs(one))]
    if not fitting:
        return None
    chosen = max(fitting, key=lambda address: left[address].cores)
    return Placed(chosen, fitted[chosen])


def lack_of_room(spec: RunSpec, rooms: Iterable[Capacity]) -> str | None:
    """Why none of these workers can ever take the run; None if one can, or if there is no worker."""
    by_size = sorted(rooms, key=lambda room: (room.cores, room.memory_mb))
    if not by_size or any(room.holds(capacity.needs(with_memory(spec, room))) for room in by_size):
        return None
    largest = by_size[-1]
    return (
        f"it takes {capacity.needs(with_memory(spec, largest))}, and the largest worker has {largest}: "
        "start larger workers, or ask for less with --threads, --parallel or --memory"
    )


def with_memory(spec: RunSpec, room: Capacity) -> RunSpec:
    """A run that asks for no memory gets the same share of the worker's memory as of its threads."""
    side_by_side = room.cores // capacity.needs(spec).cores
    [fitted] = capacity.with_memory([spec], room, side_by_side)
    return fitted
