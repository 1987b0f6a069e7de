"""Configurations of numbers, packed: they are half of a cache of digests, and take longer to read as JSON.

A row of 64-bit floats holds every whole number up to 2**53 exactly; larger ones, and values that are no
numbers, are not packed.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.results.trial_digest import Configs

_KINDS = {int: "i", float: "f"}
_LARGEST_WHOLE = 2**53
_BYTES = np.dtype("<f8")


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


def packed(configs: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """As JSON; None for configurations that can't be packed."""
    if not isinstance(configs, Configs) or not configs.rows or not configs.names:
        return None
    columns = list(zip(*configs.rows, strict=True))
    types = [set(map(type, values)) for values in columns]
    if any(len(own) != 1 or not own <= _KINDS.keys() for own in types):
        return None
    kinds = "".join(_KINDS[own.pop()] for own in types)
    whole = (values for values, kind in zip(columns, kinds, strict=True) if kind == "i")
    if any(max(map(abs, values)) > _LARGEST_WHOLE for values in whole):
        return None
    content = np.array(configs.rows, dtype=_BYTES).tobytes()
    return {"names": configs.names, "kinds": kinds, "numbers": base64.b64encode(content).decode("ascii")}


def unpacked(row: dict[str, Any]) -> PackedConfigs:
    """What `packed` made."""
    numbers = np.frombuffer(base64.b64decode(row["numbers"]), dtype=_BYTES)
    return PackedConfigs(row["names"], row["kinds"], numbers.reshape(-1, len(row["names"])))
