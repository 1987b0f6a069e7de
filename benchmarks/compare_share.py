"""How much of the given time does `cfo-bench compare` use, and does it stay within it?

    CFO_BENCH_SHARED=FOLDER python benchmarks/compare_share.py [SECONDS]

Five data sets of FOLDER/data, of few rows and of many, of all problem types, with SECONDS (60) each, from the
start of the program to its end. Exits with 1 when a share is below 85 % or above 100 %.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import figure
from cfo_bench.clock import monotonic

DATA_SETS = {
    "credit-g": "class",
    "vehicle": "Class",
    "adult": "class",
    "houses": "median_house_value",
    "BNG_breastTumor": "target",
}
LEAST_PERCENT, MOST_PERCENT = 85.0, 100.0


def share(data: Path, target: str, seconds: float) -> tuple[float, int]:
    """The percentage of the time that was used, and the number of folds that were compared."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cfo_bench", "compare", "--data", data, "--target", target]
        options = ["--for", f"{seconds:g}s", "--results", folder, "--quiet", "--json"]
        answer = Path(folder, "answer.json")
        # Into a file: a pipe would be waited for until the processes behind the program have ended, too.
        with answer.open("w") as stdout:
            began = monotonic()
            subprocess.run([*command, *options], check=True, stdout=stdout)
            elapsed = monotonic() - began
        return 100 * elapsed / seconds, json.loads(answer.read_text())["folds"]


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    data = Path(os.environ.get("CFO_BENCH_SHARED", "../shared")) / "data"
    if not data.is_dir():
        print(f"nothing is measured: {data} does not exist, see CONTRIBUTING.md")
        return 0
    kept = True
    for name, target in DATA_SETS.items():
        percent, folds = share(data / f"{name}.parquet", target, seconds)
        what = f"compare --for {seconds:g}s on {name}, {folds} folds"
        kept &= figure(what, percent, "%", at_least=LEAST_PERCENT)
        kept &= percent <= MOST_PERCENT
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
