"""Traces can be read in several threads from the first one on, as a report does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.helpers.program import ROOT, clean_environment

SCRIPT = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from cfo_bench.results.run import read_run

sys.setswitchinterval(1e-6)
traces = sorted(Path(sys.argv[1]).rglob("*.jsonl"))
with ThreadPoolExecutor(8) as pool:
    print(len([run for run in pool.map(read_run, traces * 4) if run is not None]))
"""


def test_the_first_traces_of_a_process_can_be_read_in_threads() -> None:
    folder = next(path for path in sorted((ROOT / "tests/golden/data").rglob("methods")) if path.is_dir())
    n_traces = len(list(Path(folder).rglob("*.jsonl")))

    # Half of the processes died before the types of a header were prepared with the module.
    for _ in range(5):
        answer = subprocess.run(
            [sys.executable, "-c", SCRIPT, folder], env=clean_environment(), capture_output=True, text=True
        )
        assert (answer.returncode, answer.stdout) == (0, f"{4 * n_traces}\n"), answer.stderr
