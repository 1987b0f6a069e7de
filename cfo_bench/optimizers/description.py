"""A method's properties: its packages, what it receives and supports, and the time of its suggestions.

They are read from the method's row, class and options. The times are in `suggestion_cost.json`, which
`python -m scripts.docs.suggestion_cost` measures.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cfo_bench.optimizers import METHODS
from cfo_bench.registry import default_options

SUGGESTION_COST = Path(__file__).with_name("suggestion_cost.json")

# The options that a run sets if a method has them, in words.
SET_BY_RUN = {
    "budget_seconds": "the budget",
    "cost_related": "which hyperparameters determine the cost",
    "n_rows": "the number of training rows",
}
# Every method receives the results of its trials.
RESULTS = "each trial's loss, seconds and status"


@dataclass(frozen=True, slots=True)
class MethodDescription:
    """The properties of a method. Its fields are the keys of `cfo-bench methods NAME --json`."""

    method: str
    summary: str
    reference: str | None  # a link, or a page of docs/
    packages: dict[str, str]  # the installed version of each package that it needs
    program: str | None  # the versions in a program's answer to hello
    told: list[str]
    knows_budget: bool  # with its default options; then a finished run can't be extended
    chooses_rows: bool
    runs_parallel: bool
    can_be_resumed: bool
    milliseconds_per_suggestion: dict[str, float]  # by the number of trials; empty: not measured
    measured_with: dict[str, str]  # the versions of the packages when measured
    measured_on: str  # the processor

    def in_words(self) -> dict[str, str]:
        """A short heading and a text for each property."""
        return {
            "reference": self.reference or "none",
            "needs": versions_in_words(self.packages) or self.program or "no other package",
            "receives": "; ".join(self.told),
            "budget": self._budget_in_words(),
            "rows": "chooses how many each trial gets" if self.chooses_rows else "all, in each trial",
            "parallel": "several trials at once" if self.runs_parallel else "one trial at a time",
            "resumable": "yes" if self.can_be_resumed else "no: an interrupted run starts again",
            "suggestion": self._cost_in_words(),
        }

    def _budget_in_words(self) -> str:
        if self.knows_budget:
            return "used: a finished run cannot be extended"
        if SET_BY_RUN["budget_seconds"] in self.told:
            return "used only with an option (see below): a finished run with this option cannot be extended"
        return "unknown to the method"

    def _cost_in_words(self) -> str:
        if not self.milliseconds_per_suggestion:
            return "not measured beforehand: see the summary and the report of its runs"
        times = ", ".join(
            f"{milliseconds(time)} at {n} trials" for n, time in self.milliseconds_per_suggestion.items()
        )
        setting = ", ".join(filter(None, [self.measured_on, versions_in_words(self.measured_with)]))
        return f"{times} ({setting}; other machines and versions differ)"


def described_method(name: str) -> MethodDescription:
    """The properties of an installed method; a UserError if there is none, or a package is missing."""
    cls, row = METHODS.load(name), METHODS.row(name)
    options = default_options(cls)
    cost = suggestion_costs()["methods"].get(name, {})
    return MethodDescription(
        method=name,
        summary=row.summary,
        reference=row.source or None,
        packages=installed_versions(row.needs),
        program=getattr(cls, "version", None),
        told=[RESULTS, *(words for option, words in SET_BY_RUN.items() if option in options)],
        knows_budget=getattr(cls, "knows_budget", False),
        chooses_rows="n_rows" in options,
        runs_parallel="parallel" in options,
        can_be_resumed=getattr(cls, "replays", True),
        milliseconds_per_suggestion=cost.get("milliseconds", {}),
        measured_with=cost.get("packages", {}),
        measured_on=suggestion_costs()["processor"],
    )


def installed_versions(modules: Sequence[str]) -> dict[str, str]:
    """The packages of importable modules, such as scikit-optimize of `skopt`, with their versions."""
    packages = importlib.metadata.packages_distributions()
    return {
        package: importlib.metadata.version(package)
        for module in modules
        for package in dict.fromkeys(packages.get(module, ()))
    }


def versions_in_words(packages: Mapping[str, str]) -> str:
    return ", ".join(f"{package} {version}" for package, version in packages.items())


def milliseconds(time: float) -> str:
    return f"{time:,g} ms"


@cache
def suggestion_costs() -> Any:
    """The measured times: `processor`, and for each of `methods` its milliseconds and packages."""
    return json.loads(SUGGESTION_COST.read_text(encoding="utf-8"))
