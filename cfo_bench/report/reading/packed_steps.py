"""The numbers of a run's incumbents, packed: most of a cache is these, and JSON takes longer to read.

A row of 64-bit floats holds every whole number up to 2**53 exactly; larger ones, and values that are no
numbers, are not packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.results.digest_in_trace import steps_to_json, trusted_steps
from cfo_bench.results.trial_digest import Configs, Steps

NUMBER = np.dtype("<f8")

_KINDS = {int: "i", float: "f"}
_LARGEST_WHOLE = 2**53
_LISTS = ("seconds", "losses", "costs", "overheads")


@dataclass(frozen=True, slots=True, eq=False)
class PackedConfigs(Sequence[dict[str, Any]]):
    """A sequence of dicts, as Configs is; each is made when it is looked at."""

    names: list[str]
    kinds: str  # of each hyperparameter: i for whole numbers, f for others
    numbers: Array  # a row for each configuration

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> PackedConfigs: ...
    def __getitem__(self, at: int | slice) -> dict[str, Any] | PackedConfigs:
        if isinstance(at, slice):
            return PackedConfigs(self.names, self.kinds, self.numbers[at])
        values = zip(self.names, self.kinds, self.numbers[at].tolist(), strict=True)
        return {name: int(value) if kind == "i" else value for name, kind, value in values}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def packed(steps: Steps) -> tuple[dict[str, Any], bytes]:
    """What goes into JSON, and the bytes of the numbers; all of it is in JSON if it can't be packed."""
    lists, kinds = [getattr(steps, name) for name in _LISTS], _kinds(steps.configs)
    if kinds is None or any(set(map(type, values)) != {float} for values in lists):
        return steps_to_json(steps), b""
    assert isinstance(steps.configs, Configs)
    is_tested = any(score is not None for score in steps.test_scores)
    row = {
        "packed": len(steps.seconds),
        "names": steps.configs.names,
        "kinds": kinds,
        "test_scores": steps.test_scores if is_tested else None,
    }
    return row, np.array(lists, NUMBER).tobytes() + np.array(steps.configs.rows, NUMBER).tobytes()


def unpacked(row: dict[str, Any], numbers: Array) -> tuple[Steps, Array]:
    """What `packed` made, from the first of the numbers; and the numbers that are left."""
    if "packed" not in row:
        return trusted_steps(row), numbers
    n, names, scores = row["packed"], row["names"], row["test_scores"]
    of_lists, of_all = len(_LISTS) * n, (len(_LISTS) + len(names)) * n
    configs = PackedConfigs(names, row["kinds"], numbers[of_lists:of_all].reshape(n, len(names)))
    found = Steps(
        **dict(zip(_LISTS, numbers[:of_lists].reshape(-1, n).tolist(), strict=True)),
        test_scores=[None] * n if scores is None else scores,
        best_config=configs[-1],
        configs=configs,
    )
    return found, numbers[of_all:]


def _kinds(configs: Sequence[dict[str, Any]]) -> str | None:
    """The kind of each hyperparameter; None for configurations that can't be packed."""
    if not isinstance(configs, Configs) or not configs.rows or not configs.names:
        return None
    columns = list(zip(*configs.rows, strict=True))
    types = [set(map(type, values)) for values in columns]
    if any(len(own) != 1 or not own <= _KINDS.keys() for own in types):
        return None
    kinds = "".join(_KINDS[own.pop()] for own in types)
    whole = (values for values, kind in zip(columns, kinds, strict=True) if kind == "i")
    return None if any(max(map(abs, values)) > _LARGEST_WHOLE for values in whole) else kinds
