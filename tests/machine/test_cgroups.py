"""Limits of control groups, read from trees of files as Slurm, Kubernetes and Docker make them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfo_bench.machine import facts

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
