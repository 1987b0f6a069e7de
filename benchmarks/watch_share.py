"""What share of a core does `cfo-bench watch` use while a browser shows its page?

    python benchmarks/watch_share.py

Three folders: a tenth of the paper's size in which nothing changes; a suite that is running; and that suite
again without anybody who looks at the page. Processor seconds are those of the server. The builds of the
report, which yield to the runs, are counted by themselves. Linux only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import figure

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 20.0
POLL_SECONDS = 2.0  # as the page does
MOST_PERCENT = 1.0
SUITE = "--task wine --learner xgboost --method cfo --method rs --folds 0-1 --budget 25 -q"


@contextmanager
def running(*words: object, folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "cfo_bench", *map(str, words)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def cpu_seconds(pid: int) -> tuple[float, float]:
    """Of a process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = [int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15]]
    return ticks[0] + ticks[1], ticks[2] + ticks[3]


def version(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}version") as answer:
        return dict(json.load(answer))


def shares(server: subprocess.Popen[str], url: str, is_visited: bool) -> tuple[float, float]:
    """Percent of a core that the server and that its builds take."""
    before, began = cpu_seconds(server.pid), time.perf_counter()
    while (seconds := time.perf_counter() - began) < SECONDS:
        time.sleep(POLL_SECONDS)
        if is_visited:
            version(url)
    after = cpu_seconds(server.pid)
    return 100 * (after[0] - before[0]) / seconds, 100 * (after[1] - before[1]) / seconds


@contextmanager
def watching(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with running("watch", "results", folder=folder) as server:
        assert server.stdout is not None
        yield server, server.stdout.readline().strip()


def nothing_changes(folder: Path) -> bool:
    script = ROOT / "scripts" / "make_paper_scale.py"
    size = ["--tasks", "15", "--folds", "5", "--trials", "1200"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    results = folder / "results"
    subprocess.run([sys.executable, str(script), str(results), *size], check=True, env=environment)
    with watching(folder) as (server, url):
        began = time.perf_counter()
        while version(url)["report"] == 0:
            time.sleep(0.5)
        figure("first report of a tenth of the paper's size", time.perf_counter() - began, "s")
        while version(url)["report"] == 1:  # the pictures come last
            time.sleep(0.5)
        figure("the same with its pictures", time.perf_counter() - began, "s")
        share, _ = shares(server, url, is_visited=True)
    return figure("server, a tenth of the paper's size, nothing changes", share, "%", at_most=MOST_PERCENT)


def a_suite_runs(folder: Path) -> bool:
    command = ["run", *SUITE.split(), "--results", "results"]
    with running(*command, folder=folder), watching_when_begun(folder) as (server, url):
        share, _ = shares(server, url, is_visited=True)
        good = figure("server, beside a running suite", share, "%", at_most=MOST_PERCENT)
        share, builds = shares(server, url, is_visited=True)
        good &= figure("server, beside a suite whose runs finish", share, "%", at_most=MOST_PERCENT)
        figure("builds of the report meanwhile, which yield to the runs", builds, "%")
        share, builds = shares(server, url, is_visited=False)
        return good & figure("server and builds, nobody has the page open", share + builds, "%", at_most=0.1)


@contextmanager
def watching_when_begun(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    while not list(folder.rglob("*.jsonl")):
        time.sleep(0.1)
    with watching(folder) as server:
        yield server


def main() -> None:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        good = nothing_changes(Path(first)) & a_suite_runs(Path(second))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
