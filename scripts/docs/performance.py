"""Writes the figures of the last `make bench` into docs/performance.md.

    make bench
    python -m scripts.docs.performance

Only the part below the mark is written anew; the text above it stays.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from scripts.bench import OUTPUT, ROOT

PAGE = ROOT / "docs" / "performance.md"
MARK = "<!-- Below: written by python -m scripts.docs.performance -->\n"


@dataclass
class Benchmark:
    """The output of a benchmark script."""

    name: str
    rows: list[list[str]] = field(default_factory=list)  # figure, value, limit, verdict
    seconds: int = 0
    has_failed: bool = False


def read(output: str) -> tuple[dict[str, Any], list[Benchmark]]:
    """The facts of the machine, and the output of each benchmark."""
    first, *lines = output.splitlines()
    benchmarks: list[Benchmark] = []
    for line in lines:
        if line.startswith("figure |"):
            benchmarks[-1].rows.append([cell.strip() for cell in line.split("|")[1:]])
        elif script := re.fullmatch(r"== benchmarks/(\w+)\.py", line):
            benchmarks.append(Benchmark(script[1]))
        elif took := re.fullmatch(r"took (\d+) s", line):
            benchmarks[-1].seconds = int(took[1])
        elif line.startswith("ended with exit code"):
            benchmarks[-1].has_failed = True
    return json.loads(first), benchmarks


def question(name: str) -> str:
    """What a benchmark measures: the first line of its text."""
    source = (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[0].replace("\n", " ")


def figures(output: str) -> str:
    facts, benchmarks = read(output)
    sections = (line for benchmark in benchmarks for line in _section(benchmark))
    return "\n".join([*_summary(facts, benchmarks), *sections])


def _summary(facts: dict[str, Any], benchmarks: list[Benchmark]) -> Iterator[str]:
    limited = [row for benchmark in benchmarks for row in benchmark.rows if row[2]]
    kept = sum(row[3] == "kept" for row in limited)
    machine = facts["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in facts["packages"].items())
    minutes = sum(benchmark.seconds for benchmark in benchmarks) / 60
    yield "## The last measurement\n"
    yield f"Measured on {facts['date']}, in {minutes:.0f} minutes: {kept} of {len(limited)} limits kept.\n"
    yield f"- Machine: {machine['cpu']}, {machine['cores']} cores, {machine['memory_mb'] / 1024:.0f} GB"
    yield f"- Commit: `{facts['checkout']}`, cfo-bench {facts['cfo_bench']['version']}"
    yield f"- Versions: Python {facts['python']}, {packages}"


def _section(benchmark: Benchmark) -> Iterator[str]:
    yield f"\n### `{benchmark.name}`\n"
    yield f"{question(benchmark.name)} (`benchmarks/{benchmark.name}.py`, {benchmark.seconds} s)\n"
    if benchmark.has_failed:
        yield "**A limit was missed, or the benchmark failed.**\n"
    if benchmark.rows:
        yield "| figure | measured | limit | result |\n| --- | ---: | --- | --- |"
        yield from (f"| {' | '.join(row)} |".replace("MISSED", "**missed**") for row in benchmark.rows)


def main() -> None:
    above = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(f"{above}{MARK}\n{figures(OUTPUT.read_text(encoding='utf-8'))}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
