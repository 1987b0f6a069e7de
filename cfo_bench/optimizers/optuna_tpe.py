"""TPE by optuna."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cfo_bench.optimizers.option_checks import check_count, check_flag
from cfo_bench.optimizers.packaged import Packaged, encoded, seed_of, silence
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Int, Param, Space


class OptunaTPE(Packaged[Any]):
    """`n_startup_trials` random configurations come before the model, the start among them."""

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_startup_trials: int = 10,
        n_ei_candidates: int = 24,
        multivariate: bool = False,
        parallel: int = 1,
    ) -> None:
        check_count("parallel", parallel)
        check_count("n_startup_trials", n_startup_trials)
        check_count("n_ei_candidates", n_ei_candidates)
        check_flag("multivariate", multivariate)
        super().__init__(space, start)
        if not self.searched:
            return
        import optuna

        self._distributions = {param.name: _distribution(param) for param in self.searched}
        with silence(), no_announcements():
            self._study = optuna.create_study(
                sampler=optuna.samplers.TPESampler(
                    n_startup_trials=n_startup_trials,
                    n_ei_candidates=n_ei_candidates,
                    multivariate=multivariate,
                    constant_liar=parallel > 1,
                    seed=seed_of(seed),
                )
            )

    def begin(self) -> Any:
        self._study.enqueue_trial(
            {param.name: encoded(param, self.start[param.name]) for param in self.searched}
        )
        return self._study.ask(self._distributions)

    def suggest(self) -> tuple[Mapping[str, Any], Any]:
        trial = self._study.ask(self._distributions)
        return trial.params, trial

    def learn(self, token: Any, result: Result) -> None:
        # TPE only ranks losses, and ignores trials that are told as failed. An infinite loss ranks last and
        # keeps TPE away from that region.
        self._study.tell(token, result.value)


@contextmanager
def no_announcements() -> Iterator[None]:
    """optuna logs every new study on stderr. Its log level is global, so it is set back afterwards."""
    import optuna

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)


def _distribution(param: Param) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(param, Categorical):
        last = len(param.choices) - 1
        return IntDistribution(0, last) if param.ordered else CategoricalDistribution(range(last + 1))
    if isinstance(param, Int):
        return IntDistribution(param.low, param.high, log=param.log)
    return FloatDistribution(param.low, param.high, log=param.log)
