"""`--charge-method`: the virtual clock also moves by the seconds that the method really takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cfo_bench.clock import Clock, monotonic
from cfo_bench.records import Optimizer, Result, Trial

T = TypeVar("T")


class Charged:
    """A method whose own seconds, in ask and in tell, are put on the run's clock."""

    def __init__(self, optimizer: Optimizer, clock: Clock) -> None:
        self._optimizer, self._clock = optimizer, clock

    def ask(self) -> Trial:
        return self._timed(self._optimizer.ask)

    def tell(self, trial: Trial, result: Result) -> None:
        self._timed(lambda: self._optimizer.tell(trial, result))

    def _timed(self, call: Callable[[], T]) -> T:
        began = monotonic()
        try:
            return call()
        finally:
            self._clock.account(monotonic() - began)
