"""Runs by name, in the lines that tell of them."""

from __future__ import annotations

from collections.abc import Sequence

from cfo_bench.report.contents import MOST_NAMES, some
from cfo_bench.report.reading.digest import Digest


def run_names(runs: Sequence[Digest]) -> str:
    """Such as `iris cfo fold 0, 1; iris rs fold 1; and 3 more`."""
    folds: dict[tuple[str, str], list[str]] = {}
    for one in runs:
        folds.setdefault((one.task, one.method), []).append(str(one.fold))
    names = [
        f"{task} {method} fold {some(list(dict.fromkeys(own)))}" for (task, method), own in folds.items()
    ]
    more = sum(len(own) for own in list(folds.values())[MOST_NAMES:])
    return "; ".join(names[:MOST_NAMES]) + (f"; and {more} more" if more else "")
