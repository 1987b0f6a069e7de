"""Commands in a control group with a limit on memory or cores, as containers and batch systems set it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cfo_bench.records import Status
from tests.helpers.bench import PLUGINS
from tests.helpers.processes import wait_until

ROOT = Path("/sys/fs/cgroup")
MEMORY_MB = 1200

# A trial that uses all of its memory, and does not only ask for it.
LEARNER = f"""
import sys
sys.path.insert(0, {str(PLUGINS)!r})
from learners import Faulty

class Greedy(Faulty):
    def none(self):
        blocks = []
        while True:
            blocks.append(b"x" * 2**26)
"""

Group = Callable[[str, str, dict[str, object]], list[str]]


@pytest.fixture
def group() -> Iterator[Group]:
    """Makes a group with a limit, and returns the words that start a command in it."""
    folders = []

    def make(controller: str, limit: str, files: dict[str, object]) -> list[str]:
        is_v2 = (ROOT / "cgroup.controllers").exists()
        folder = (ROOT if is_v2 else ROOT / controller) / f"cfo-bench-{uuid.uuid4().hex}"
        try:
            folder.mkdir()
            folders.append(folder)
            for name, value in ({limit: files[limit]} if is_v2 else files).items():
                if is_v2 or name != limit:
                    (folder / name).write_text(str(value))
        except OSError as error:
            pytest.skip(f"control groups can't be made here: {error}")
        return ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(folder / "cgroup.procs")]

    yield make
    members = [folder / "cgroup.procs" for folder in folders]
    wait_until(lambda: not any(path.read_text() for path in members), "the end of the group's processes")
    for folder in folders:
        folder.rmdir()


@pytest.fixture
def in_memory_group(group: Group) -> list[str]:
    size = MEMORY_MB * 2**20
    return group("memory", "memory.max", {"memory.max": size, "memory.limit_in_bytes": size})


def run_in(bench, before: list[str], *words: object) -> tuple[int, str]:
    with (bench.folder / "output").open("w") as output:
        process = bench.python("-m", "cfo_bench", "run", *words, before=before, output=output)
    code = process.wait(timeout=100)
    return code, (bench.folder / "output").read_text()


def greedy(bench, faulty, *more: object) -> list[object]:
    (bench.folder / "greedy.py").write_text(LEARNER)
    words = faulty(budget=60, at=3, seconds=0.01)
    words[words.index("--learner") + 1] = "greedy.py:Greedy"
    return [*words, "--max-trials", 6, *more]


def test_the_cores_of_a_group_are_those_of_the_machine(bench, faulty, group):
    before = group(
        "cpu",
        "cpu.max",
        {"cpu.max": "100000 100000", "cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": 100000},
    )
    words = [word for word in faulty(budget=60) if word != "-q"]
    code, out = run_in(bench, before, *words, "--folds", "0-1", "--jobs", 2, "--max-trials", 3)
    assert code == 0 and "--jobs 2: 1 at a time" in out, out
    assert {run.header.machine.cores for run in bench.read()} == {1}


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_trial_gets_no_more_memory_than_its_group_has(bench, faulty, in_memory_group, parallel: int):
    code, out = run_in(bench, in_memory_group, *greedy(bench, faulty, "--parallel", parallel))
    assert code == 0, out
    run = bench.trace()
    assert run.header.machine.memory_mb == MEMORY_MB and run.spec.memory_mb < MEMORY_MB
    assert {trial.number: trial.status for trial in run.trials} == {
        number: Status.MEMORY if number == 3 else Status.OK for number in range(6)
    }


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_trial_that_the_kernel_kills_for_memory_costs_no_other(
    bench, faulty, in_memory_group, parallel: int
):
    """With more memory than there is, it is the kernel that ends the trial."""
    words = greedy(bench, faulty, "--parallel", parallel, "--memory", 4000, "--oversubscribe")
    code, out = run_in(bench, in_memory_group, *words)
    assert code == 0, out
    statuses = {trial.number: trial.status for trial in bench.trace().trials}
    assert statuses.pop(3) in (Status.FAILED, Status.MEMORY)
    assert statuses == dict.fromkeys((0, 1, 2, 4, 5), Status.OK)
    bench.assert_nothing_is_left()
