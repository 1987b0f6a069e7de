"""Runs of which a results folder has more than one trace, such as a copy under another name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cfo_bench.registry import label
from cfo_bench.run_id import method_label

# The learner, task, method, fold and seed of a run.
Names = tuple[str, str, str, int, int]


def names_of(spec: Mapping[str, Any]) -> Names:
    """Of the spec in a header."""
    return label(spec["learner"]), label(spec["task"]), method_label(spec), spec["fold"], spec["seed"]


def doubled(runs: Iterable[tuple[Names, str]]) -> list[str]:
    """A line for each run that has several paths."""
    places: dict[Names, list[str]] = {}
    for names, path in runs:
        places.setdefault(names, []).append(path)
    return [
        f"{learner} {task} {method} fold {fold} seed {seed} is there "
        f"{'twice' if len(paths) == 2 else f'{len(paths)} times'}, in {' and '.join(sorted(paths)[:2])}: "
        "move one away; a report counts the run once if all are the same, and else not at all"
        for (learner, task, method, fold, seed), paths in sorted(places.items())
        if len(paths) > 1
    ]
