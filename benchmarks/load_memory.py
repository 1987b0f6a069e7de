"""Peak memory and time of loading and preparing a fold of a large data set.

    python benchmarks/load_memory.py

Makes data of the size of Airlines (539,383 × 7: numbers and categories of few and of many labels, two
classes) and of a regression of 1,000,000 × 10, each as Parquet and as CSV. Every measurement has a
process of its own, which has loaded a small file of the same kind before: its peak of resident memory
from there on, over the size of the numeric array of the features as float64. The `first load` parses the
file and keeps the arrays, which `cached` maps.
Exits with 1 when a ratio over float64 is above 2.5.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

MOST = 2.5
AIRPORTS, CARRIERS = 293, 18


def airlines(n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    airports = np.array([f"{'ABCDEFGHIJ'[i % 10]}{i:03d}" for i in range(AIRPORTS)])
    return pd.DataFrame(
        {
            "Airline": pd.Categorical(rng.choice([f"C{i}" for i in range(CARRIERS)], n_rows)),
            "Flight": rng.integers(1, 7_815, n_rows),
            "AirportFrom": pd.Categorical(rng.choice(airports, n_rows)),
            "AirportTo": pd.Categorical(rng.choice(airports, n_rows)),
            "DayOfWeek": pd.Categorical(rng.integers(1, 8, n_rows).astype(str)),
            "Time": rng.integers(10, 1_440, n_rows),
            "Length": rng.integers(0, 656, n_rows),
            "y": rng.choice(["delayed", "on time"], n_rows),
        }
    )


def regression(n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({name: rng.normal(size=n_rows) for name in [*(f"x{i}" for i in range(10)), "y"]})


MADE = {"airlines": (airlines, 539_383), "regression": (regression, 1_000_000)}


def resident_kb(line: str) -> int:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in status if row.startswith(f"{line}:"))


def measure(small: Path, big: Path) -> None:
    """Prints the growth of the peak in bytes, the seconds, the rows and the features."""
    from cfo_bench.tasks import file_ref, load_fold

    load_fold(file_ref(small, "y"), fold=0, n_folds=10, seed=0)
    before = resident_kb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    began = perf_counter()
    _, facts = load_fold(file_ref(big, "y"), fold=0, n_folds=10, seed=0)
    seconds = perf_counter() - began
    print((resident_kb("VmHWM") - before) * 1024, seconds, facts.n_rows, facts.n_features)


def main() -> int:
    good = True
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CFO_BENCH_CACHE": folder, "OMP_NUM_THREADS": "1"}
        for name, (make, n_rows) in MADE.items():
            for ending in ("parquet", "csv"):
                small, big = Path(folder, f"small.{ending}"), Path(folder, f"{name}.{ending}")
                for path, n in ((small, 1_000), (big, n_rows)):
                    frame = make(n)
                    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
                for turn in ("first load", "cached"):
                    answer = subprocess.run(
                        [sys.executable, __file__, str(small), str(big)],
                        env=environment,
                        stdout=subprocess.PIPE,
                        text=True,
                        check=True,
                    )
                    growth, seconds, rows, features = map(float, answer.stdout.split())
                    what = f"{name}, {ending}, {turn}"
                    good &= figure(
                        f"{what}: peak memory / size as float64", growth / (rows * features * 8), at_most=MOST
                    )
                    figure(f"{what}: time", seconds, "s")
                big.unlink()
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(Path(sys.argv[1]), Path(sys.argv[2]))
        sys.exit()
    import numpy as np
    import pandas as pd

    from benchmarks.figures import figure

    sys.exit(main())
