"""Runs the speed benchmarks one after another, and keeps what they print in build/bench.txt.

    python -m scripts.bench [NAME …]     all of benchmarks/, or those named: deadline, overhead, …

Exits with 1 when a limit is missed or a benchmark fails. `python -m scripts.docs.performance` makes the page
of the figures. The file begins with the facts of the machine, as one line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cfo_bench.machine.facts import provenance

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "build" / "bench.txt"
HELPER = "figures"


def benchmarks() -> list[str]:
    return sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != HELPER)


def facts() -> dict[str, Any]:
    answer = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=ROOT, capture_output=True, text=True
    )
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "checkout": answer.stdout.strip() or None,
        **provenance(),
    }


def lines_of(name: str) -> Iterator[str]:
    """What a benchmark prints, as it comes; then what it took, and how it failed if it did."""
    began = time.monotonic()
    yield f"== benchmarks/{name}.py\n"
    command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from process.stdout
    yield f"took {time.monotonic() - began:.0f} s\n"
    if process.returncode:
        yield f"ended with exit code {process.returncode}\n"


def main(names: Sequence[str]) -> int:
    if unknown := [name for name in names if name not in benchmarks()]:
        print(f"no benchmark {unknown[0]!r}: choose from {', '.join(benchmarks())}", file=sys.stderr)
        return 2
    began, failed = time.monotonic(), []
    OUTPUT.parent.mkdir(exist_ok=True)
    with OUTPUT.open("w", encoding="utf-8") as file:
        file.write(json.dumps(facts()) + "\n")
        for name in names or benchmarks():
            for line in lines_of(name):
                print(line, end="", flush=True)
                file.write(line)
                if line.startswith("ended with exit code"):
                    failed.append(name)
    print(f"bench: {(time.monotonic() - began) / 60:.1f} min; all output is in {OUTPUT.relative_to(ROOT)}")
    if failed:
        print(f"bench: a limit was missed, or it failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
