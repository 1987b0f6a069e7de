"""Runs that shared a busy machine, or were on several, are named; where all was quiet nothing is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from cfo_bench.report.reading.consistency import unequal_conditions
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.schema import encode

Ran = Callable[..., Run]


@pytest.fixture
def ran(write_run: Any) -> Ran:
    """A run on a machine with these figures, `end` those of its end; 4 processors unless told otherwise."""

    def write(
        method: str = "cfo",
        fold: int = 0,
        task: str = "t",
        clock: str = "wall",
        end: dict[str, Any] | None = None,
        resumed_on: str | None = None,
        **machine: Any,
    ) -> Run:
        path: Path = write_run(task, method, fold, [(1.0, 0.4, 0.5)])
        header, *rest, last = map(orjson.loads, path.read_bytes().splitlines())
        header["machine"] = {
            "node": "n1",
            "cpu": "a processor",
            "cores": 2,
            "cpus": 4,
            "load": 1.0,
            **machine,
        }
        header["spec"]["clock"] = clock
        if resumed_on:
            rest.append(
                {"kind": "resume", "elapsed": 1.0, "trials": 1, "utc": "", "why": "", "node": resumed_on}
            )
        path.write_bytes(b"".join(map(encode, [header, *rest, {**last, **(end or {})}])))
        found = read_run(path)
        assert found is not None
        return found

    return write


@pytest.mark.parametrize("clock", ["wall", "virtual"])
def test_runs_that_were_paused_are_named(ran: Ran, clock: str) -> None:
    pauses = [{"at": 1.5, "seconds": 60.0}, {"at": 2.5, "seconds": 6.0}]
    runs = [ran("cfo", clock=clock, end={"pauses": pauses}), ran("rs", clock=clock, end={"pauses": []})]
    [line] = unequal_conditions(runs)
    assert line == "1 of 2 runs were paused (for up to 66 s, which are not on their clocks): t cfo fold 0"


def test_nothing_is_said_of_quiet_machines(ran: Ran) -> None:
    # Two may use 2 of 4 processors, and four runs side by side and their driver are no crowd.
    quiet = [
        ran("cfo", load=4.9, steal_percent=0.1, end={"load": 5.0, "steal_percent": 4.9}),
        ran("rs", load=0.0, steal_percent=None, end={"load": None, "steal_percent": None}),
    ]

    assert unequal_conditions(quiet) == []


def test_traces_of_older_versions_are_read(write_run: Any) -> None:
    found = read_run(write_run("t", "cfo", 0, [(1.0, 0.4, 0.5)]))

    assert found is not None
    assert found.nodes == []
    assert unequal_conditions([found]) == []


def test_runs_on_a_crowded_machine_are_counted_and_named(ran: Ran) -> None:
    runs = [
        ran("cfo", 0, load=5.5),
        ran("cfo", 1, end={"load": 12.25}),
        ran("rs", 0),
        ran("rs", 1, load=30.0, cpus=64),
    ]

    (line,) = unequal_conditions(runs)

    assert line.startswith("2 of 4 runs shared a busy machine")
    assert "load up to 12.2 on 4 processors" in line and line.endswith(": t cfo fold 0, 1")


def test_stolen_time_is_told_by_the_run_s_own_figure_where_there_is_one(ran: Ran) -> None:
    runs = [
        ran("cfo", 0, steal_percent=20.0, end={"steal_percent": 0.5}),
        ran("cfo", 1, steal_percent=0.0, end={"steal_percent": 31.0}),
        ran("rs", 0, steal_percent=8.0),
    ]

    (line,) = unequal_conditions(runs)

    assert line.startswith("2 of 3 runs lost time") and "up to 31 %" in line
    assert line.endswith(": t cfo fold 1; t rs fold 0")


def test_only_tasks_whose_runs_are_on_different_processors_are_told(ran: Ran) -> None:
    runs = [
        ran("cfo", task="t", node="n1", cpu="old"),
        ran("rs", task="t", node="n2", cpu="new"),
        ran("cfo", task="u", node="n1", cpu="old"),
        ran("rs", task="u", node="n1", cpu="old"),
    ]

    assert unequal_conditions(runs[2:]) == []
    (line,) = unequal_conditions(runs)
    assert line == (
        "1 of 2 tasks have runs on different processors, which may differ in speed: "
        "old (1), new (1), the first on t"
    )


def test_several_nodes_of_one_kind_are_told_a_resumed_run_s_too(ran: Ran) -> None:
    (line,) = unequal_conditions([ran("cfo", node="n1", resumed_on="n2"), ran("rs", node="n1")])

    assert "on different machines of one kind" in line and "n1 (2), n2 (1)" in line


def test_virtual_seconds_are_the_same_everywhere(ran: Ran) -> None:
    runs = [
        ran("cfo", clock="virtual", cpu="old", load=99.0, steal_percent=50.0),
        ran("rs", clock="virtual", cpu="new"),
    ]

    assert unequal_conditions(runs) == []


def test_many_runs_are_named_by_the_first_few(ran: Ran) -> None:
    runs = [ran("cfo", fold, task=f"t{task}", load=9.0) for task in range(8) for fold in range(2)]

    (line,) = unequal_conditions(runs)

    assert line.startswith("16 of 16 runs") and line.endswith("t4 cfo fold 0, 1; and 6 more")
