"""hpbandster's BOHB and Hyperband: only its generators and successive halvings, without server and workers.

The resource is the number of training rows: all of them, an `eta`-th, and so on, down to `min_rows`. With
fewer than `eta` times `min_rows` rows, or if their number isn't known, the only level is all rows.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfo_bench.errors import RunError
from cfo_bench.optimizers.options import check_count, check_length, check_number
from cfo_bench.optimizers.packaged import (
    OnLevels,
    OwnGlobalRandomness,
    configuration,
    configuration_space,
    silence,
)
from cfo_bench.records import Result
from cfo_bench.space import Space


@dataclass(frozen=True, slots=True)
class HalvingRun:
    """One configuration of a successive halving, to be trained on `budget` rows."""

    halving: Any
    id: tuple[int, int, int]
    config: dict[str, Any]
    budget: float


class Hyperband(OnLevels[HalvingRun]):
    """Random configurations, the better ones of each level promoted to the next.

    parallel  trials at once
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
        super().__init__(space, start, seed, parallel=parallel, **options)
        self._halvings: list[Any] = []
        self._halvings_begun = 0
        # hpbandster draws from numpy's global generator.
        self._own_randomness = OwnGlobalRandomness(self.seed)
        if self.searched:
            with silence():
                self._space = configuration_space(self.searched, self.seed)
                self._generator = self.generator(self._space)

    def generator(self, space: Any) -> Any:
        from hpbandster.optimizers.config_generators.random_sampling import RandomSampling

        return RandomSampling(space, logger=_strict_logger())

    def begin(self) -> HalvingRun:
        first = self._begin_halving()
        config = dict(configuration(self._space, self.searched, self.start))
        first.add_configuration(config=config, config_info={})
        return self._next_run()

    def suggest(self) -> tuple[Mapping[str, Any], HalvingRun]:
        run = self._next_run()
        return run.config, run

    def learn(self, token: HalvingRun, result: Result) -> None:
        from hpbandster.core.dispatcher import Job

        job = Job(token.id, config=token.config, budget=token.budget)
        # hpbandster treats None as a crash: a bad configuration that is never promoted.
        job.result = {"loss": result.value, "info": None} if math.isfinite(result.value) else None
        job.timestamps, job.exception = {}, None
        with self._own_randomness():
            token.halving.register_result(job)
            self._generator.new_result(job)

    def rows_of(self, token: HalvingRun) -> int | None:
        return None if token.budget == self._levels[-1] else round(token.budget)

    def _next_run(self) -> HalvingRun:
        """The next run of the first halving that has one; if all wait for results, of a new halving."""
        with self._own_randomness():
            for halving in self._halvings:
                if (run := halving.get_next_run()) is not None:
                    break
            else:
                halving = self._begin_halving()
                run = halving.get_next_run()
        self._halvings = [unfinished for unfinished in self._halvings if not unfinished.is_finished]
        return HalvingRun(halving, *run)

    def _begin_halving(self) -> Any:
        """Begin the next bracket of Hyperband: in turn, many configurations on few rows, …, few on all."""
        from hpbandster.optimizers.iterations import SuccessiveHalving

        rungs = len(self._levels) - self._halvings_begun % len(self._levels)
        first = len(self._levels) // rungs * self._eta ** (rungs - 1)
        halving = SuccessiveHalving(
            HPB_iter=self._halvings_begun,
            num_configs=[max(first // self._eta**i, 1) for i in range(rungs)],
            budgets=self._levels[-rungs:],
            config_sampler=self._generator.get_config,
            logger=_strict_logger(),
        )
        self._halvings.append(halving)
        self._halvings_begun += 1
        return halving


class BOHB(Hyperband):
    """Hyperband with configurations from kernel density estimates of the good and of the bad ones.

    min_points_in_model  trials of a level before it has a model; null: the number of hyperparameters + 1
    top_n_percent        the share of the trials that are the good ones
    num_samples          candidates, of which the most promising is taken
    random_fraction      the share of configurations that are random all the same
    bandwidth_factor     candidates are drawn with this many times the bandwidth of the estimate
    min_bandwidth        the least bandwidth of the estimate
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        min_points_in_model: int | None = None,
        top_n_percent: int = 15,
        num_samples: int = 64,
        random_fraction: float = 1 / 3,
        bandwidth_factor: float = 3.0,
        min_bandwidth: float = 1e-3,
        **options: Any,
    ) -> None:
        check_count("num_samples", num_samples)
        if min_points_in_model is not None:
            check_count("min_points_in_model", min_points_in_model)
        check_count("top_n_percent", top_n_percent)
        check_number("top_n_percent", top_n_percent, 1, 99)
        check_number("random_fraction", random_fraction, 0, 1)
        check_length("bandwidth_factor", bandwidth_factor)
        check_length("min_bandwidth", min_bandwidth)
        self._settings = {
            "min_points_in_model": min_points_in_model,
            "top_n_percent": top_n_percent,
            "num_samples": num_samples,
            "random_fraction": random_fraction,
            "bandwidth_factor": bandwidth_factor,
            "min_bandwidth": min_bandwidth,
        }
        super().__init__(space, start, seed, **options)

    def generator(self, space: Any) -> Any:
        from hpbandster.optimizers.config_generators.bohb import BOHB as Generator

        return Generator(space, logger=_strict_logger(), **self._settings)


class _Raise(logging.Handler):
    """Raises an error instead of a silent fallback: if BOHB's model fails, hpbandster only logs a line and
    draws a random configuration.
    """

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if "random configuration" in message or "failed" in message:
            reason = message.strip().splitlines()
            raise RunError(
                f"hpbandster's model failed: {reason[0]} ({reason[-2 if len(reason) > 2 else -1]})"
            )


def _strict_logger() -> logging.Logger:
    """A logger for hpbandster alone: a message about a fallback raises, all others are dropped."""
    logger = logging.Logger("cfo_bench.bohb", logging.DEBUG)
    logger.addHandler(_Raise())
    return logger
