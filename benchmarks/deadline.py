"""How long after the end of its budget does a run end, if a single round of XGBoost takes minutes?

    python benchmarks/deadline.py

A real XGBoost, asked for trees of tens of thousands of leaves on data large enough to make one round
outlast the budget by far: only the axe ends it. Exits with 1 when a run took longer than it may, or
counted the trial that was cut off.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import figure
from cfo_bench.records import EndReason, Result, Status, Trial
from cfo_bench.results.run import read_run
from cfo_bench.space import Space

TRIES = 3
BUDGET_SECONDS, ALLOWED_SECONDS = 5.0, 0.3
ROWS, FEATURES, CLASSES = 100_000, 50, 7


class Dearest:
    """Asks for the most trees of the most leaves, again and again."""

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int) -> None:
        self._config = {
            **start,
            "n_estimators": space["n_estimators"].high,
            "max_leaves": space["max_leaves"].high,
        }
        self._config |= {"min_child_weight": space["min_child_weight"].low}
        self._number = -1

    def ask(self) -> Trial:
        self._number += 1
        return Trial(self._number, self._config)

    def tell(self, trial: Trial, result: Result) -> None:
        pass


def make_data(path: Path) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, FEATURES)).astype(np.float32))
    frame.columns = [f"x{i}" for i in range(FEATURES)]
    frame["y"] = [f"class {i}" for i in rng.integers(CLASSES, size=ROWS)]
    frame.to_parquet(path)


def main() -> int:
    good = True
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "large.parquet"
        make_data(data)
        for turn in range(TRIES):
            command = [sys.executable, "-m", "cfo_bench", "run", "-q", "--data", str(data), "--target", "y"]
            command += ["--method", f"{Path(__file__).resolve()}:Dearest", "--budget", f"{BUDGET_SECONDS}"]
            command += ["--folds", "0", "--seed", f"{turn}", "--results", f"{folder}/{turn}"]
            subprocess.run(
                command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"}
            )
            [path] = (Path(folder) / str(turn)).rglob("*.jsonl")
            run = read_run(path)
            assert run is not None and run.end is not None
            last, late = run.trials[-1], run.end.elapsed - BUDGET_SECONDS
            good &= figure(f"run {turn + 1}, past the budget", late, "s", at_most=ALLOWED_SECONDS)
            if last.status is not Status.TIMEOUT or last.loss is not None:
                good = False
                print(f"the last trial was not cut off: {last.status}, loss {last.loss}")
            if run.end.reason is not EndReason.BUDGET:
                good = False
                print(f"the run did not end with its budget: {run.end.reason}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
