"""The clusters that we start take only connections with their own certificates."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.engines.dask.clusters import linked
from cfo_bench.errors import UserError
from cfo_bench.suite.model import Cluster
from tests.engines.dask.test_dask_jobqueue import slurm


def started(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[str, str, str]:
    """The scheduler's address and dashboard, and the script of a job, of a cluster on a Slurm of our own."""
    for key, value in slurm(folder).items():
        monkeypatch.setenv(key, value)
    monkeypatch.chdir(folder)
    with linked(Cluster("slurm", None, 1, {"cores": 1, "memory": "1GB", **options}), 1) as link:
        assert link.has_tls
        script: str = link._ours.job_script()
        for key in re.findall(r"--tls-\S+ (\S+)", script):
            assert os.stat(key).st_mode & 0o077 == 0
        return link.address, link.client.dashboard_link, script


def test_a_batch_systems_cluster_has_tls_and_a_dashboard_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, dashboard, script = started(tmp_path, monkeypatch)

    assert address.startswith("tls://") and not address.startswith("tls://0.0.0.0")
    assert dashboard.startswith("http://127.0.0.1:")
    assert "--dashboard-address 127.0.0.1:0" in script and "PRIVATE KEY" not in script
    [key] = re.findall(r"--tls-key (\S+)", script)
    assert Path(key).is_relative_to(tmp_path) and not Path(key).parent.exists()  # it went with the cluster


def test_what_the_user_asks_of_the_scheduler_and_of_the_workers_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    address, _, script = started(
        tmp_path,
        monkeypatch,
        interface="lo",
        shared_temp_directory=str(keys),
        scheduler_options={"idle_timeout": "1h"},
        worker_extra_args=["--lifetime", "55m"],
    )

    assert address.startswith("tls://127.0.0.1:")
    assert "--interface lo" in script and "--lifetime 55m" in script and f"--tls-key {keys}/" in script


def test_a_folder_for_the_keys_that_is_not_there_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="shared_temp_directory"):
        started(tmp_path, monkeypatch, interface="lo", shared_temp_directory=str(tmp_path / "absent"))
