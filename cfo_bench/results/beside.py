"""Runs of other methods that a results folder has of the same tasks, under the same conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cfo_bench.errors import CfoBenchError
from cfo_bench.records import RunLimits
from cfo_bench.results.folder import TRACE_SUFFIX, run_files
from cfo_bench.results.limits import is_done
from cfo_bench.results.trace import ends


def beside(results: Path, traces: Sequence[Path], limits: RunLimits) -> list[Path]:
    """The traces of other methods on the folds and seeds of these `traces`, done as far as the limits."""
    if not traces:  # nothing was run; there may be no results folder either
        return []
    own = {_place(path): path for path in traces}
    wanted = {(learner, task, run): path for (learner, task, _, run), path in own.items()}
    known: dict[Path, tuple[Any, ...] | None] = {}
    found = []
    for run_id, suffixes in sorted(run_files(results).runs.items()):
        if run_id.count("/") != 3:
            continue
        path = results / f"{run_id}{TRACE_SUFFIX}"
        learner, task, method, run = _place(path)
        twin = wanted.get((learner, task, run))
        if TRACE_SUFFIX not in suffixes or twin is None or (learner, task, method, run) in own:
            continue
        if twin not in known:
            known[twin] = _conditions_at(twin, None)
        conditions = _conditions_at(path, limits)
        if conditions is not None and conditions == known[twin]:
            found.append(path)
    return found


def _place(path: Path) -> tuple[str, str, str, str]:
    learner, task, method, run = path.parts[-4:]
    return learner, task, method, run


def _conditions_at(path: Path, limits: RunLimits | None) -> tuple[Any, ...] | None:
    """What has to be the same for two runs to be compared; None if the run is not done as far as that."""
    try:
        both = ends(path)
    except CfoBenchError:  # a report says what is wrong with it
        return None
    if both is None or (limits is not None and not is_done(*both, limits)):
        return None
    return _conditions(both[0])


def _conditions(header: Mapping[str, Any]) -> tuple[Any, ...]:
    spec = header["spec"]
    defaults = {"n_folds": 10, "validation": "fold", "clock": "wall", "threads": 1, "parallel": 1}
    options = spec.get("learner_options", {})
    return (
        header["data"].get("sha256"),
        *(spec.get(key, value) for key, value in defaults.items()),
        sorted((key, str(value)) for key, value in options.items()),
    )
