"""Measures the milliseconds of a suggestion, and writes them into the package and into docs/methods.md.

    OMP_NUM_THREADS=1 python -m scripts.docs.suggestion_cost             of all methods (15 minutes)
    OMP_NUM_THREADS=1 python -m scripts.docs.suggestion_cost NAME …      of these; the others stay

`cfo-bench methods NAME` and the reference of the methods show them. The times hold for the processor and the
versions of packages that are written beside them.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.suggestion_cost import FULL_CHECKPOINTS, OF_FAMILIES, mean_seconds, searches
from cfo_bench.machine.facts import provenance
from cfo_bench.optimizers import METHODS
from cfo_bench.optimizers.description import (
    SUGGESTION_COST,
    installed_versions,
    milliseconds,
    suggestion_costs,
    versions_in_words,
)
from scripts.bench import ROOT
from scripts.docs import markdown

PAGE = ROOT / "docs" / "methods.md"
MARK = "<!-- Below: written by python -m scripts.docs.suggestion_cost -->\n"


def measured(name: str) -> dict[str, Any]:
    means = mean_seconds(name, FULL_CHECKPOINTS, most_seconds=math.inf)
    times = [float(f"{1e3 * mean:.3g}") for mean in means]
    return {
        "packages": installed_versions(METHODS.row(name).needs),
        "milliseconds": dict(zip(map(str, FULL_CHECKPOINTS), times, strict=True)),
    }


def table(costs: dict[str, Any]) -> str:
    """The times of all methods, for docs/methods.md."""
    rows = [
        (
            markdown.code(name),
            *map(milliseconds, cost["milliseconds"].values()),
            versions_in_words(cost["packages"]),
        )
        for name, cost in costs["methods"].items()
    ]
    headings = ["method", *(f"at {n} trials" for n in FULL_CHECKPOINTS), "measured with"]
    return f"Processor: {costs['processor']}.\n\n{markdown.table(headings, rows)}"


def main(names: Sequence[str]) -> None:
    costs = suggestion_costs() if names else {"methods": {}}
    costs["processor"] = provenance()["machine"]["cpu"]
    for name in names or [*searches(), *OF_FAMILIES]:
        costs["methods"][name] = measured(name)
        print(name, costs["methods"][name]["milliseconds"], flush=True)
    costs["methods"] = dict(sorted(costs["methods"].items()))
    SUGGESTION_COST.write_text(json.dumps(costs, indent=1) + "\n", encoding="utf-8")
    above = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(f"{above}{MARK}\n{table(costs)}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
