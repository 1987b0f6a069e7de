"""Data goes to a node once. The other node is a worker in a mount namespace, where the file is not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

HIDING = ["unshare", "--map-root-user", "--mount", "sh", "-c"]


def can_hide_files() -> bool:
    try:
        done = subprocess.run([*HIDING, "mount -t tmpfs none /mnt"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


@pytest.mark.skipif(not can_hide_files(), reason="needs the right to a mount namespace of one's own")
@pytest.mark.slow
def test_a_file_that_the_nodes_do_not_see_goes_to_each_node_once(bench, tmp_path: Path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    rows = "".join(f"{i % 7},{i * 37 % 101},{i % 3 * 1.5}\n" for i in range(2000))
    (hidden / "mine.csv").write_text("x,z,y\n" + rows)
    words = ["--data", hidden / "mine.csv", "--target", "y", "--problem", "regression"]
    words += ["--learner", bench.learner, "--method", "rs", "--budget", 30, "--max-trials", 2, "--n-folds", 4]
    bench.scheduler()
    node = {"CFO_BENCH_STORE": str(tmp_path / "store"), "CFO_BENCH_CACHE": str(tmp_path / "cache")}
    hide = f'mount -t tmpfs none {hidden} && exec "$@"'
    workers = [bench.worker("--no-nanny", before=[*HIDING, hide, "sh"], **node) for _ in range(2)]
    in_pieces = "from cfo_bench.tasks import fetching; fetching.PIECE_BYTES = 1000"
    code, out = bench.finish(bench.driver(*words, prelude=in_pieces))
    assert code == 0, out
    runs = bench.read()
    assert len(runs) == 4
    assert {run.header.data.source for run in runs} == {"file: mine.csv"}
    assert all(f"--data {hidden / 'mine.csv'} " in run.header.command for run in runs)
    [kept] = (tmp_path / "store").rglob("mine.csv")
    assert kept.read_bytes() == (hidden / "mine.csv").read_bytes()
    before = kept.stat()
    code, out = bench.finish(bench.driver(*words, "--folds", "0", "--force"))
    assert code == 0, out
    assert os.path.samestat(before, kept.stat())
    assert all(worker.poll() is None for worker in workers)
