"""What share of real runs is nobody's: neither the method's, nor to fit, nor to validate?

    python benchmarks/time_shares.py [SECONDS]

Every method is run for SECONDS (6) on two small tasks, one trial at a time, and those that can also with two
at once. Printed are the shares as the report shows them, and what the end says was cut off. Exits with 1 when
more than 1 % of a run with one trial at a time is nobody's.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from cfo_bench.report.reading.digest import Digest
from cfo_bench.report.reading.load import load
from cfo_bench.results import trace

METHODS = ("cfo", "rs", "smac", "gpei", "gpeips", "bohb")
TASKS = ("iris", "breast_cancer")
# Those that can ask for a second trial before they are told of the first.
PARALLEL = ("cfo", "rs", "smac", "bohb")
MOST_IDLE_SHARE = 0.01


def run(results: Path, methods: tuple[str, ...], seconds: float, parallel: int) -> list[Digest]:
    command = [sys.executable, "-m", "cfo_bench", "run", "-q", "--folds", "0", "--jobs", "1"]
    command += [word for name in TASKS for word in ("--task", name)]
    command += [word for name in methods for word in ("--method", name)]
    command += ["--budget", f"{seconds}", "--parallel", f"{parallel}", "--results", str(results)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return load(results).digests


def show(one: Digest, parallel: int) -> float:
    """Prints a run's shares, and returns the one that is nobody's."""
    whole = sum(one.spent.values())
    shares = {kind: seconds / whole for kind, seconds in one.spent.items()}
    found = trace.read(Path(one.path))
    assert found is not None and found.end is not None
    cut = f"{found.end.cut_ask_seconds:9.2f}{found.end.cut_tell_seconds:9.2f}"
    numbers = "".join(f"{share:10.2%}" for share in shares.values())
    print(f"{one.task:16}{one.method:8}{parallel:8}{one.trials:8}{numbers}{cut}")
    return shares["idle"]


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 6.0
    print(
        f"{'task':16}{'method':8}{'at once':>8}{'trials':>8}{'method':>10}{'fit':>10}{'validate':>10}"
        f"{'nobody':>10}{'cut ask':>9}{'tell s':>9}"
    )
    idle = []
    for parallel, methods in ((1, METHODS), (2, PARALLEL)):
        with tempfile.TemporaryDirectory() as folder:
            shares = [show(one, parallel) for one in run(Path(folder), methods, seconds, parallel)]
        idle += shares if parallel == 1 else []
    print(f"at most {MOST_IDLE_SHARE:.0%} of a run with one trial at a time may be nobody's: {max(idle):.2%}")
    return 0 if max(idle) <= MOST_IDLE_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
