"""This machine: its cores and memory, the limits of its groups, its load, and the memory of a process."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import orjson
import pytest

from cfo_bench import machine
from cfo_bench.machine import facts
from cfo_bench.machine.facts import PeakMemory, Ticks, cap_memory
from cfo_bench.machine.processes import SpawnContext, call_in_subprocess


def test_the_provenance_can_stand_in_a_header_and_names_what_matters() -> None:
    provenance = machine.provenance()
    assert orjson.loads(orjson.dumps(provenance)) == provenance
    assert {"cfo_bench", "machine", "python", "packages"} <= provenance.keys()
    assert {"cpu", "cores", "memory_mb", "os"} <= provenance["machine"].keys()
    assert {"numpy", "scikit-learn"} <= provenance["packages"].keys()


def test_cores_and_memory_are_those_of_here() -> None:
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)
    assert 100 < machine.total_memory_mb() < 2**30


@pytest.mark.parametrize(("quota", "cores"), [(None, 8), (3.9, 3), (0.25, 1), (64.0, 8)])
def test_cores_are_whole_ones_and_at_least_one(quota: float | None, cores: int) -> None:
    assert facts.whole_cores(8, quota) == cores


def test_the_commit_is_that_of_the_checkout_also_in_a_worktree(tmp_path: Path) -> None:
    def git(folder: Path, *words: str) -> str:
        who = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
        return subprocess.run(
            ["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", "-b", "branch", str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "second")

    assert facts.commit_of(main) == git(main, "rev-parse", "HEAD")
    assert facts.commit_of(other) == git(other, "rev-parse", "HEAD") != facts.commit_of(main)
    git(main, "pack-refs", "--all")
    assert facts.commit_of(other) == git(other, "rev-parse", "HEAD")
    assert facts.commit_of(tmp_path) is None


# --- limits of control groups -----------------------------------------------------------------------


NO_LIMIT = "9223372036854771712\n"


def system(tmp_path: Path, cgroup: str, mounts: list[str], files: dict[str, str]) -> Path:
    """A /proc/self in `tmp_path`; `{fs}` in mounts stands for its /sys/fs/cgroup."""
    fs, proc = tmp_path / "fs", tmp_path / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(cgroup)
    lines = [f"22 1 0:21 / /proc rw - proc proc rw\n{30 + n} 22 0:28 {line}" for n, line in enumerate(mounts)]
    (proc / "mountinfo").write_text("\n".join(lines).format(fs=fs) + "\n")
    for name, text in files.items():
        path = fs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return proc


V2 = ["/ {fs} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"]
V1 = [
    "/ {fs}/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct",
    "/ {fs}/memory rw shared:10 - cgroup cgroup rw,memory",
]


def test_the_tightest_limit_of_all_ancestors_counts_as_under_slurm(tmp_path: Path) -> None:
    job = "system.slice/slurmstepd.scope/job_7"
    proc = system(
        tmp_path,
        f"0::/{job}/step_0/user/task_0\n",
        V2,
        {
            f"{job}/step_0/user/task_0/cpu.max": "max 100000\n",
            f"{job}/step_0/user/task_0/memory.max": "max\n",
            f"{job}/step_0/memory.max": f"{6 * 2**30}\n",
            f"{job}/cpu.max": "350000 100000\n",
            f"{job}/memory.max": f"{4 * 2**30}\n",
            "system.slice/memory.max": f"{64 * 2**30}\n",
        },
    )

    assert facts.cpu_limit(proc) == 3.5
    assert facts.memory_limit_mb(proc) == 4096


def test_a_container_sees_its_own_group_as_the_root_as_under_kubernetes(tmp_path: Path) -> None:
    proc = system(tmp_path, "0::/\n", V2, {"cpu.max": "50000 100000\n", "memory.max": f"{512 * 2**20}\n"})

    assert facts.cpu_limit(proc) == 0.5
    assert facts.memory_limit_mb(proc) == 512


def test_version_1_has_a_tree_for_each_controller(tmp_path: Path) -> None:
    proc = system(
        tmp_path,
        "12:memory:/slurm/uid_1/job_7\n4:cpu,cpuacct:/slurm\n1:name=systemd:/user.slice\n0::/user.slice\n",
        V1,
        {
            "cpu,cpuacct/slurm/cpu.cfs_quota_us": "200000\n",
            "cpu,cpuacct/slurm/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "memory/slurm/uid_1/job_7/memory.limit_in_bytes": NO_LIMIT,
            "memory/slurm/uid_1/memory.limit_in_bytes": f"{3 * 2**30}\n",
            "memory/memory.limit_in_bytes": NO_LIMIT,
        },
    )

    assert facts.cpu_limit(proc) == 2.0
    assert facts.memory_limit_mb(proc) == 3072


@pytest.mark.parametrize("root", ["/docker/1f", "/"])
def test_a_name_of_outside_the_container_is_found_where_the_mount_shows_it(tmp_path: Path, root: str) -> None:
    mounts = [f"{root} {{fs}}/memory ro - cgroup cgroup rw,memory"]
    proc = system(tmp_path, "9:memory:/docker/1f\n", mounts, {"memory/memory.limit_in_bytes": f"{2**30}\n"})

    assert facts.memory_limit_mb(proc) == 1024
    assert facts.cpu_limit(proc) is None


def test_version_1_beside_version_2_as_systemd_mixes_them(tmp_path: Path) -> None:
    proc = system(
        tmp_path,
        "3:memory:/job\n0::/job\n",
        [V1[1], "/ {fs}/unified rw - cgroup2 cgroup2 rw"],
        {"memory/job/memory.limit_in_bytes": f"{2**31}\n", "unified/job/cpu.max": "100000 50000\n"},
    )

    assert (facts.cpu_limit(proc), facts.memory_limit_mb(proc)) == (2.0, 2048)


def test_without_control_groups_or_without_proc_there_is_no_limit(tmp_path: Path) -> None:
    empty = system(tmp_path, "", [], {})

    for proc in (empty, tmp_path / "nowhere"):
        assert facts.cpu_limit(proc) is None
        assert facts.memory_limit_mb(proc) is None


# --- how busy the machine is ------------------------------------------------------------------------


def test_a_header_gets_the_figures_of_its_own_moment() -> None:
    figures = facts.at_start()

    assert figures["node"] == platform.node() and figures["cpus"] == os.cpu_count()
    assert figures["load"] == pytest.approx(os.getloadavg()[0], abs=0.5)
    assert figures["load_5min"] >= 0 and 0 <= figures["steal_percent"] <= 100


def test_steal_is_a_share_of_the_time_since() -> None:
    now = facts.ticks()
    assert now is not None and 0 <= now.stolen <= now.total

    # A fifth of the last thousand ticks, and of the few that have passed while we look.
    assert facts.steal_percent(Ticks(now.total - 1000, now.stolen - 200)) == pytest.approx(20, abs=5)
    assert facts.steal_percent(None) is None
    assert facts.steal_percent(Ticks(now.total + 10**9, now.stolen)) is None


# --- the memory of a process ------------------------------------------------------------------------


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
