"""A method whose random draws are listed in the test, played one loss at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cfo_bench.records import Result


class Script:
    """In place of a numpy generator: the listed vectors one after the other, the last of them for ever."""

    def __init__(self, normals: Sequence[Sequence[float]], integers: Sequence[int]) -> None:
        self.normals = list(normals)
        self.integers_left = list(integers)

    def standard_normal(self, d: int) -> np.ndarray[Any, Any]:
        vector = self.normals[0] if len(self.normals) == 1 else self.normals.pop(0)
        assert len(vector) == d
        return np.array(vector, dtype=np.float64)

    def integers(self, n: int) -> int:
        assert self.integers_left[0] < n
        return self.integers_left.pop(0)


class Play:
    """One search thread with scripted draws; `config` is what it asks, and its state is as of then."""

    def __init__(self, method: Any, *normals: Sequence[float], integers: Sequence[int] = ()) -> None:
        self.method = method
        self.thread = method.threads[0]
        self.thread.rng = Script(normals, integers)
        self.method.ask()

    @property
    def config(self) -> dict[str, Any]:
        return self.method.ask().config

    @property
    def trials(self) -> int:
        return self.method.ask().number + 1

    def tell(self, *losses: float) -> None:
        for loss in losses:
            self.method.tell(self.method.ask(), Result.ok(loss))
            self.method.ask()


@pytest.fixture
def play() -> type[Play]:
    return Play
