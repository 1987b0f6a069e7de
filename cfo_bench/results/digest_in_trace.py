"""The digest of a run's trials in the end of its trace: written when the run ends, checked when it is read.

With it a report need not parse millions of lines. It counts only if its own checksum and that of the trials
are right; else every line is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import chain
from operator import gt, le
from typing import Any

from cfo_bench.records import EndReason, EndRecord, Status
from cfo_bench.results.line_types import are_configs, are_plain
from cfo_bench.results.outline import Outline, digest_crc32, trials_crc32
from cfo_bench.results.trial_digest import N_BINS, Configs, Steps, TrialDigest, digest_of_text

# A digest of another version is ignored. Raise it whenever the same trials give another digest.
VERSION = 1


def _to_json(digest: TrialDigest) -> dict[str, Any]:
    """As it stands in the end of a trace. `full` is null where it is the same as `steps`."""
    row = {**asdict(digest), "steps": steps_to_json(digest.steps)}
    return {
        "version": VERSION,
        **row,
        "full": None if digest.full == digest.steps else steps_to_json(digest.full),
    }


def steps_to_json(steps: Steps) -> dict[str, Any]:
    """Where all configurations have the same hyperparameters, their names stand once."""
    row = {name: getattr(steps, name) for name in ("seconds", "losses", "test_scores", "costs", "overheads")}
    if isinstance(steps.configs, Configs):
        return {**row, "names": steps.configs.names, "configs": steps.configs.rows}
    if not steps.configs:
        return {**row, "names": [], "configs": []}
    return {**row, "names": None, "configs": steps.configs}


def sealed(end: EndRecord, before: bytes) -> EndRecord:
    """The end with checksum and digest of the trials in the text before it.

    An interrupted run gets no digest, since it will be resumed.
    """
    crc32 = trials_crc32(before)
    end = replace(end, trials_crc32=crc32)
    if end.reason is EndReason.INTERRUPTED:
        return end
    try:
        row = _to_json(digest_of_text(before, end))
    except (KeyError, TypeError, ValueError, AttributeError, MemoryError):  # then a report reads every line
        return end
    return replace(end, digest=row, digest_crc32=digest_crc32(row, crc32))


def from_outline(found: Outline) -> TrialDigest | None:
    """The digest in the end of a trace; None without one, and for one of another version or another shape."""
    row = found.end["digest"]
    if row is None or row.get("version") != VERSION:
        return None
    try:
        digest = _from_json(row, found.end["trials"])
        # A trial past the budget never counts, whoever wrote the digest.
        last = max([0.0, *digest.steps.seconds[-1:], *digest.full.seconds[-1:]])
        _require(last <= found.header["spec"]["budget_seconds"])
        return digest
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _from_json(row: Mapping[str, Any], trials: int) -> TrialDigest:
    """Raises one of several errors if anything is not as our writer writes it."""
    statuses = {str(Status(name)): _count(number) for name, number in row["statuses"].items()}
    steps = steps_from_json(row["steps"])
    _require(row["trials"] == trials == sum(statuses.values()))
    _require(len(_numbers(row["cost_bins"], may_miss=True)) == N_BINS)
    _seconds([cost for cost in row["cost_bins"] if cost is not None])
    return TrialDigest(
        trials=trials,
        statuses=statuses,
        steps=steps,
        full=steps if row["full"] is None else steps_from_json(row["full"]),
        cost_bins=row["cost_bins"],
        **dict(zip(_SECONDS, _seconds([row[name] for name in _SECONDS]), strict=True)),
    )


_SECONDS = ("method_seconds", "fit_seconds", "validate_seconds", "dearer_seconds", "last_ended")


def steps_from_json(row: Mapping[str, Any]) -> Steps:
    """What `steps_to_json` made; a ValueError, TypeError or KeyError for anything else."""
    seconds, costs, overheads = (_seconds(row[name]) for name in ("seconds", "costs", "overheads"))
    losses, test_scores = _numbers(row["losses"]), _numbers(row["test_scores"], may_miss=True)
    _require(len(seconds) == len(losses) == len(test_scores) == len(costs) == len(overheads))
    _require(all(map(le, seconds, seconds[1:])) and all(map(gt, losses, losses[1:])))
    names, configs = row["names"], row["configs"]
    _require(len(configs) == len(seconds))
    if names is None:
        _require(are_configs(configs))
    else:
        _require(all(isinstance(name, str) for name in names))
        _require(all(type(values) is list and len(values) == len(names) for values in configs))
        _require(are_plain(chain.from_iterable(configs)))
    return trusted_steps(row)


def trusted_steps(row: Mapping[str, Any]) -> Steps:
    """The same without checks, for what this code has written and a checksum protects."""
    names, rows = row["names"], row["configs"]
    configs = rows if names is None else Configs(names, rows) if rows else ()
    best = configs[-1] if configs else {}
    return Steps(
        seconds=row["seconds"],
        losses=row["losses"],
        test_scores=row["test_scores"],
        costs=row["costs"],
        overheads=row["overheads"],
        best_config=best,
        configs=configs,
    )


def _require(is_so: bool) -> None:
    if not is_so:
        raise ValueError


def _count(value: Any) -> int:
    _require(type(value) is int and value >= 0)
    return int(value)


def _numbers(values: Any, may_miss: bool = False) -> list[Any]:
    """A list of numbers, which are checked all at once: a folder of results has millions."""
    types = {int, float, type(None)} if may_miss else {int, float}
    _require(type(values) is list and types.issuperset(map(type, values)))
    return list(values)


def _seconds(values: Any) -> list[float]:
    _require(not values or min(_numbers(values)) >= 0.0)
    return _numbers(values)
