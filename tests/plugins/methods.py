"""Methods that misbehave on demand, for `--method path/to/methods.py:Name`."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from cfo_bench.records import Result, Trial
from cfo_bench.space import Space


class Draws:
    """Random draws; the subclasses do harm in the ask or the tell of trial number `at`."""

    def __init__(
        self, space: Space, start: Mapping[str, Any], seed: int, *, at: int = 3, parallel: int = 1
    ) -> None:
        self._space, self._at = space, at
        self._rng = np.random.default_rng(seed)
        self._number = -1

    def ask(self) -> Trial:
        self._number += 1
        return Trial(self._number, self._space.sample(self._rng))

    def tell(self, trial: Trial, result: Result) -> None:
        pass


class NeverAsks(Draws):
    def ask(self) -> Trial:
        if self._number + 1 == self._at:
            sum(range(10**12))
        return super().ask()


class NeverTells(Draws):
    def tell(self, trial: Trial, result: Result) -> None:
        if trial.number == self._at:
            time.sleep(600)


class DiesInAsk(Draws):
    def ask(self) -> Trial:
        if self._number + 1 == self._at:
            ctypes.string_at(0)
        return super().ask()


class DiesInTell(Draws):
    def tell(self, trial: Trial, result: Result) -> None:
        if trial.number == self._at:
            ctypes.string_at(0)


class RaisesInAsk(Draws):
    def ask(self) -> Trial:
        if self._number + 1 == self._at:
            raise RuntimeError("no idea")
        return super().ask()


class LeavesTheSpace(Draws):
    def ask(self) -> Trial:
        trial = super().ask()
        return Trial(trial.number, {**trial.config, "x": 0}) if trial.number == self._at else trial


class Miscounts(Draws):
    def ask(self) -> Trial:
        return Trial(0, super().ask().config)


class Unsteady(Draws):
    """Another configuration at each start: it can't be replayed."""

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int, *, at: int = 3) -> None:
        super().__init__(space, start, time.time_ns(), at=at)


class Forgetful(Unsteady):
    """And it says so."""

    replays = False
