"""Which workers are used, and which takes what."""

from __future__ import annotations

import pytest

from cfo_bench import __version__
from cfo_bench.engines.capacity import Capacity
from cfo_bench.engines.dask import crew, remote
from cfo_bench.engines.dask.crew import Crew, Enrolled
from cfo_bench.records import RunSpec


def spec(**changes: object) -> RunSpec:
    return RunSpec("xgboost", "iris", "cfo", 0, **changes)  # type: ignore[arg-type]


def crew_of(said: list[str] | None = None, **workers: tuple[int, int]) -> Crew:
    """Workers by name: their threads and megabytes."""
    found = Crew((said if said is not None else []).append)
    found.meet({name: f"/{name}" for name in workers})
    for name, (threads, memory_mb) in workers.items():
        offer = {remote.THREADS: threads, remote.MEMORY: memory_mb, "version": __version__}
        found.enrol(Enrolled(name, f"/{name}", offer))
    return found


def test_the_worker_with_the_most_free_cores_takes_the_next_run() -> None:
    found = crew_of(small=(2, 1000), large=(8, 4000))
    assert found.place(spec(), found.free([]))[0] == "large"
    free = found.free([("large", Capacity(7, 100))])
    assert free == {"small": Capacity(2, 1000), "large": Capacity(1, 3900)}
    assert found.place(spec(), free)[0] == "small"
    assert found.place(spec(threads=3), free) is None


def test_a_run_without_memory_of_its_own_gets_the_share_of_its_threads() -> None:
    found = crew_of(one=(8, 4000))
    assert found.place(spec(), found.free([]))[1].memory_mb == 500
    assert found.place(spec(threads=2, workers=2), found.free([]))[1].memory_mb == 1000
    assert found.place(spec(memory_mb=300), found.free([]))[1].memory_mb == 300
    assert found.place(spec(memory_mb=4001), found.free([])) is None


def test_a_run_that_fits_nowhere_is_told_of_once_others_had_time_to_join(monkeypatch) -> None:
    found = crew_of(small=(2, 1000), large=(8, 4000))
    assert found.lack_of_room(spec(threads=9)) is None
    monkeypatch.setattr(crew, "UNFIT_SECONDS", 0.0)
    assert "it takes 9 cores" in found.lack_of_room(spec(threads=9))
    assert "the largest worker has 8 cores and 4000 MB" in found.lack_of_room(spec(memory_mb=5000))
    assert found.lack_of_room(spec(threads=8)) is None
    assert Crew(print).lack_of_room(spec()) is None  # nobody is there yet


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("No module named 'cfo_bench'", "worker new can't import cfo-bench (No module named 'cfo_bench')"),
        ({"version": "0.0", remote.THREADS: 1, remote.MEMORY: 1000}, "worker new has cfo-bench 0.0"),
    ],
)
def test_a_worker_that_is_not_like_us_is_named_and_not_used(answer, said: str) -> None:
    heard: list[str] = []
    found = crew_of(heard, old=(1, 1000))
    assert found.meet({"old": "/old", "new": "/new"}) == (["new"], [])
    found.enrol(Enrolled("new", "/new", answer))
    assert set(found.free([])) == {"old"}
    assert len(heard) == 1 and heard[0].startswith(said) and f"install cfo-bench {__version__}" in heard[0]
    assert found.meet({"old": "/old", "new": "/new"}) == ([], [])  # not asked again


def test_a_worker_that_was_started_again_at_its_address_is_another_one() -> None:
    found = crew_of(one=(1, 1000))
    assert found.meet({"one": "/other"}) == (["one"], ["one"])
    assert found.free([]) == {}
    found.enrol(Enrolled("one", "/one", {"version": __version__, remote.THREADS: 1, remote.MEMORY: 1000}))
    assert found.free([]) == {}  # an answer of the one that is gone


def test_a_worker_that_could_not_be_asked_is_asked_again() -> None:
    found = crew_of()
    found.meet({"one": "/one"})
    found.enrol(Enrolled("one", "/one", OSError("timed out")))
    assert found.meet({"one": "/one"}) == (["one"], [])


def test_a_silent_worker_is_used_again_when_it_is_heard_of() -> None:
    found = crew_of(one=(1, 1000))
    found.is_silent("one")
    assert found.free([]) == {}
    found.is_heard("one")
    assert set(found.free([])) == {"one"}
