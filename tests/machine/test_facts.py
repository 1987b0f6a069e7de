"""What a process can find out about its machine."""

from __future__ import annotations

import os

import orjson
import pytest

from cfo_bench import machine
from cfo_bench.machine import facts


def test_the_provenance_can_stand_in_a_header_and_names_what_matters() -> None:
    found = machine.provenance()
    assert orjson.loads(orjson.dumps(found)) == found
    assert {"cfo_bench", "machine", "python", "packages"} <= found.keys()
    assert {"cpu", "cores", "memory_mb", "os"} <= found["machine"].keys()
    assert {"numpy", "scikit-learn"} <= found["packages"].keys()


def test_cores_and_memory_are_those_of_here() -> None:
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)
    assert 100 < machine.total_memory_mb() < 2**30


@pytest.mark.parametrize(("quota", "cores"), [(None, 8), (3.9, 3), (0.25, 1), (64.0, 8)])
def test_cores_are_whole_ones_and_at_least_one(quota: float | None, cores: int) -> None:
    assert facts.whole_cores(8, quota) == cores
