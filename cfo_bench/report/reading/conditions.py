"""Warnings if the runs that are compared had different machines, or shared one with other work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from cfo_bench.report.contents import MOST_NAMES
from cfo_bench.report.reading.digest import Digest
from cfo_bench.report.reading.run_names import run_names

# Our runs side by side may fill the machine. A load this much above is other work, or too many runs.
SPARE_LOAD_SHARE, SPARE_LOAD = 0.25, 1.0
# Any virtual machine loses less than this now and then.
STEAL_PERCENT = 5.0


def unequal_conditions(digests: Sequence[Digest]) -> list[str]:
    """One line for each difference.

    Runs on the virtual clock are left out where machines are compared: these don't matter to them.
    """
    real = [one for one in digests if one.header["spec"].get("clock", "wall") == "wall"]
    lines = [*_paused(digests), *_crowded(real), *_stolen(real)]
    cpus = _mixed(real, "processors", lambda one: [_machine(one, "cpu")])
    return lines + (cpus or _mixed(real, "machines of one kind", lambda one: one.nodes))


def _paused(digests: Sequence[Digest]) -> list[str]:
    paused = [one for one in digests if one.paused_seconds > 0.0]
    if not paused:
        return []
    return [
        f"{len(paused)} of {len(digests)} runs were paused (for up to "
        f"{max(one.paused_seconds for one in paused):.0f} s, which are not on their clocks): "
        f"{run_names(paused)}"
    ]


def _crowded(digests: Sequence[Digest]) -> list[str]:
    crowded = [
        one for one in digests if _load(one) > _cpus(one) + max(SPARE_LOAD, SPARE_LOAD_SHARE * _cpus(one))
    ]
    if not crowded:
        return []
    worst = max(crowded, key=lambda one: _load(one) / _cpus(one))
    return [
        f"{len(crowded)} of {len(digests)} runs shared a busy machine, where processes waited for each other "
        f"(load up to {_load(worst):.1f} on {_cpus(worst)} processors): {run_names(crowded)}"
    ]


def _stolen(digests: Sequence[Digest]) -> list[str]:
    stolen = [one for one in digests if _steal(one) > STEAL_PERCENT]
    if not stolen:
        return []
    return [
        f"{len(stolen)} of {len(digests)} runs lost time to other virtual machines of their host "
        f"(up to {max(map(_steal, stolen)):.0f} % of it): {run_names(stolen)}"
    ]


def _mixed(digests: Sequence[Digest], what: str, of: Callable[[Digest], list[Any]]) -> list[str]:
    """A line if runs on the same task, which are compared, were on different machines or processors."""
    by_task: dict[tuple[str, str], list[Digest]] = {}
    for one in digests:
        by_task.setdefault((one.learner, one.task), []).append(one)
    counts: Counter[str] = Counter()
    tasks = []
    for (_, task), runs in by_task.items():
        different = {str(value) for one in runs for value in of(one) if value}
        if len(different) > 1:
            tasks.append(task)
            counts.update(str(value) for one in runs for value in of(one) if value)
    if not tasks:
        return []
    sides = ", ".join(f"{value} ({n})" for value, n in counts.most_common(MOST_NAMES))
    others = f" and {len(counts) - MOST_NAMES} more" if len(counts) > MOST_NAMES else ""
    return [
        f"{len(tasks)} of {len(by_task)} tasks have runs on different {what}, which may differ in speed: "
        f"{sides}{others}, the first on {tasks[0]}"
    ]


def _cpus(one: Digest) -> int:
    """All processors of the machine, not only those that the run may use: the load counts all."""
    return int(_machine(one, "cpus") or _machine(one, "cores") or 1)


def _load(one: Digest) -> float:
    """The higher of the loads at the start and at the end."""
    return max(float(_machine(one, "load") or 0.0), one.load or 0.0)


def _steal(one: Digest) -> float:
    """The share of stolen time during the run if it is known, else before the run."""
    return float(
        one.steal_percent if one.steal_percent is not None else _machine(one, "steal_percent") or 0.0
    )


def _machine(one: Digest, key: str) -> Any:
    return one.header.get("machine", {}).get(key)
