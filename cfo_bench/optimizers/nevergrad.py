"""Every optimizer of nevergrad's registry as a method: `nevergrad:NGOpt`, `nevergrad:NgIohTuned` and so on.

Many of them, such as NGOpt, adapt to the number of trials, which is unknown if the limit is in seconds. The
option `planned_trials` sets the number for which they plan; they continue after it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cfo_bench.errors import OptionError, UnknownNameError, describe
from cfo_bench.optimizers.options import check_count
from cfo_bench.optimizers.packaged import OwnGlobalRandomness, Packaged, silence
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Int, Param, Space

# nevergrad clips larger losses, with a warning.
LARGEST_LOSS = 1e20
PLANNED_TRIALS = 1000


def optimizer_called(name: str) -> type[NevergradMethod]:
    """The method of the optimizer with this name in nevergrad's registry."""
    if name not in optimizers():
        raise UnknownNameError("optimizer of nevergrad", name, optimizers())
    from nevergrad.optimization import registry

    base = NevergradMethod if registry[name].no_parallelization else ParallelNevergradMethod
    return type(name, (base,), {"optimizer": name, "__doc__": f"nevergrad's {name}."})


def optimizers() -> list[str]:
    """The names in nevergrad's registry."""
    with silence():
        from nevergrad.optimization import registry

    return list(registry)


class NevergradMethod(Packaged[Any]):
    """An optimizer of nevergrad.

    planned_trials  trials that it plans for; it continues after them
    """

    optimizer: str
    _parallel = 1

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        planned_trials: int = PLANNED_TRIALS,
    ) -> None:
        super().__init__(space, start, seed, self._parallel)
        check_count("planned_trials", planned_trials)
        self._worst: float | None = None
        # Some optimizers draw from numpy's global generator.
        self._own_randomness = OwnGlobalRandomness(self.seed)
        if not self.searched:
            return
        with silence(), self._own_randomness():
            from nevergrad import p
            from nevergrad.optimization import registry

            parameters = p.Dict(**{param.name: _parameter(param) for param in self.searched})
            parameters.random_state = np.random.RandomState(self.seed)
            try:
                self._optimizer = registry[self.optimizer](
                    parameters, budget=planned_trials, num_workers=self._parallel
                )
            except Exception as error:  # for example from an optimizer that needs another number of trials
                raise OptionError(
                    f"nevergrad's {self.optimizer} can't be built with planned_trials {planned_trials!r}: "
                    f"give another number ({describe(error)})"
                ) from error
            self._optimizer.suggest(self.first_values)

    def begin(self) -> Any:
        with self._own_randomness():
            return self._optimizer.ask()

    def suggest(self) -> tuple[Mapping[str, Any], Any]:
        with self._own_randomness():
            candidate = self._optimizer.ask()
        return candidate.value, candidate

    def learn(self, token: Any, result: Result) -> None:
        loss = min(max(result.value, -LARGEST_LOSS), LARGEST_LOSS)
        if math.isinf(result.value):
            # A failure is reported immediately: some optimizers wait for each result in a thread.
            loss = LARGEST_LOSS if self._worst is None else self._worst
        else:
            self._worst = loss if self._worst is None else max(self._worst, loss)
        with self._own_randomness():
            self._optimizer.tell(token, loss)


class ParallelNevergradMethod(NevergradMethod):
    """An optimizer of nevergrad that supports several trials at once.

    parallel        trials at once
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        parallel: int = 1,
        **options: Any,
    ) -> None:
        self._parallel = parallel
        super().__init__(space, start, seed, **options)


def _parameter(param: Param) -> Any:
    from nevergrad import p

    if isinstance(param, Categorical):
        kind = p.TransitionChoice if param.ordered else p.Choice
        return kind(range(len(param.choices)))
    number = (p.Log if param.log else p.Scalar)(lower=param.low, upper=param.high)
    return number.set_integer_casting() if isinstance(param, Int) else number
