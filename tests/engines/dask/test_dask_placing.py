"""Which worker takes which run."""

from __future__ import annotations

from cfo_bench.engines.capacity import Capacity
from cfo_bench.engines.dask.driver import free, lack_of_room, place, with_memory
from cfo_bench.records import RunSpec

ROOMS = {"small": Capacity(2, 1000), "large": Capacity(8, 4000)}


def spec(**changes: object) -> RunSpec:
    return RunSpec("xgboost", "iris", "cfo", 0, **changes)  # type: ignore[arg-type]


def test_the_worker_with_the_most_free_cores_takes_the_next_run() -> None:
    placed = place(spec(), ROOMS, ROOMS)
    assert placed is not None and placed[0] == "large"
    left = free(ROOMS, [("large", Capacity(3, 50)), ("large", Capacity(4, 50)), ("gone", Capacity(1, 1))])
    assert left == {"small": Capacity(2, 1000), "large": Capacity(1, 3900)}
    placed = place(spec(), ROOMS, left)
    assert placed is not None and placed[0] == "small"
    assert place(spec(threads=3), ROOMS, left) is None


def test_a_run_goes_to_no_worker_that_is_left_out() -> None:
    left = {"small": ROOMS["small"]}
    placed = place(spec(), ROOMS, left)
    assert placed is not None and placed[0] == "small"
    assert place(spec(threads=3), ROOMS, left) is None


def test_a_run_without_memory_of_its_own_gets_the_share_of_its_threads() -> None:
    room = ROOMS["large"]
    assert with_memory(spec(), room).memory_mb == 500
    assert with_memory(spec(threads=2, parallel=2), room).memory_mb == 1000
    assert with_memory(spec(memory_mb=300), room).memory_mb == 300
    assert place(spec(memory_mb=4001), ROOMS, ROOMS) is None


def test_a_run_that_fits_on_no_worker_is_told_why() -> None:
    assert "it needs 9 cores" in (lack_of_room(spec(threads=9), ROOMS.values()) or "")
    assert "the largest worker has 8 cores and 4000 MB" in (
        lack_of_room(spec(memory_mb=5000), ROOMS.values()) or ""
    )
    assert lack_of_room(spec(threads=8), ROOMS.values()) is None
    assert lack_of_room(spec(), []) is None  # no worker has joined yet
