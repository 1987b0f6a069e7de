"""How much memory a process has held, and how much it may."""

from __future__ import annotations

from cfo_bench import machine
from cfo_bench.machine.facts import PeakMemory, cap_memory
from cfo_bench.machine.processes import SpawnContext, call_in_subprocess


def test_the_peak_is_that_of_this_process() -> None:
    assert 5 < PeakMemory()(0.0) < machine.total_memory_mb()


def _peak_now() -> float:
    return PeakMemory()(0.0)


def test_the_peak_leaves_out_what_the_starting_process_holds() -> None:
    held = bytearray(b"x") * (1000 * 2**20)  # written to, so that the system really gives it
    assert call_in_subprocess(SpawnContext(), "asking", _peak_now) < 900 < len(held) / 2**20


# In new processes: one that is forked from this may have room left by tests that needed much memory, and
# then it takes none from the system.


def _peaks_after_allocating() -> list[float]:
    peak = PeakMemory(every=1.0)
    before = peak(10.0)
    bytearray(200 * 2**20)
    return [before, peak(10.5), peak(11.0)]


def test_the_peak_is_looked_up_again_only_after_a_while() -> None:
    before, soon, later = call_in_subprocess(SpawnContext(), "allocating", _peaks_after_allocating)
    assert before == soon and later > before + 100


def _allocate_under_a_cap() -> list[str]:
    cap_memory(200)
    said = []
    for megabytes in (100, 400, 100):
        try:
            said.append(f"{len(bytearray(megabytes * 2**20)) // 2**20} MB")
        except MemoryError:
            said.append("MemoryError")
    return said


def test_a_process_with_a_cap_survives_that_it_asked_for_too_much() -> None:
    said = call_in_subprocess(SpawnContext(), "allocating", _allocate_under_a_cap)
    assert said == ["100 MB", "MemoryError", "100 MB"]
