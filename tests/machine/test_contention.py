"""Who else wanted the machine, as the machine tells."""

from __future__ import annotations

import os
import platform

import pytest

from cfo_bench.machine import facts
from cfo_bench.machine.facts import Ticks


def test_a_header_gets_the_figures_of_its_own_moment() -> None:
    found = facts.at_start()

    assert found["node"] == platform.node() and found["cpus"] == os.cpu_count()
    assert found["load"] == pytest.approx(os.getloadavg()[0], abs=0.5)
    assert found["load_5min"] >= 0 and 0 <= found["steal_percent"] <= 100


def test_steal_is_a_share_of_the_time_since() -> None:
    now = facts.ticks()
    assert now is not None and 0 <= now.stolen <= now.total

    # A fifth of the last thousand ticks, and of the few that have passed while we look.
    assert facts.steal_percent(Ticks(now.total - 1000, now.stolen - 200)) == pytest.approx(20, abs=5)
    assert facts.steal_percent(None) is None
    assert facts.steal_percent(Ticks(now.total + 10**9, now.stolen)) is None
