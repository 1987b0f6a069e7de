"""Samplers of optuna, each with a name of its own; optuna_families has all others.

A study in memory asks the sampler and is told of the losses. Its first trial is the start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cfo_bench.errors import OptionError
from cfo_bench.optimizers.option_checks import check_count, check_counts, check_flag, check_length
from cfo_bench.optimizers.packaged import FiniteLosses, Packaged, silence
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Int, Param, Space

# The largest loss that a sampler with a model is told: its square is still a finite number.
LARGEST_LOSS = 1e100


class OptunaMethod(Packaged[Any]):
    """A study with one sampler.

    A sampler that only ranks losses is told an infinite one of a trial that failed; told as failed, the trial
    would be ignored, and its region tried again. Others are told the worst loss so far.
    """

    only_ranks = False

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int, parallel: int = 1) -> None:
        super().__init__(space, start, seed, parallel)
        self._losses = FiniteLosses[Any](LARGEST_LOSS)

    def build(self, sampler: Callable[[Mapping[str, Any]], Any]) -> None:
        """Makes the study; `sampler` is given the searched hyperparameters as optuna describes them."""
        if not self.searched:
            return
        with silence(), no_announcements():
            import optuna

            self._distributions = {param.name: _distribution(param) for param in self.searched}
            self._study = optuna.create_study(sampler=sampler(self._distributions))

    def begin(self) -> Any:
        with no_announcements():
            self._study.enqueue_trial(self.first_values)
            return self._study.ask(self._distributions)

    def suggest(self) -> tuple[Mapping[str, Any], Any]:
        with no_announcements():
            trial = self._study.ask(self._distributions)
        return trial.params, trial

    def learn(self, token: Any, result: Result) -> None:
        due = [(token, result.value)] if self.only_ranks else self._losses.admit(token, result)
        with no_announcements():
            for trial, loss in due:
                self._study.tell(trial, loss)


class OptunaTPE(OptunaMethod):
    """The tree-structured Parzen estimator of optuna.

    n_startup_trials  random configurations before the model, the start among them
    n_ei_candidates   candidates, of which the most promising is taken
    multivariate      model all hyperparameters together, and not each by itself
    parallel          trials at once
    """

    only_ranks = True

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
        super().__init__(space, start, seed, parallel)
        self._build_tpe(n_startup_trials, n_ei_candidates, multivariate, parallel)

    def _build_tpe(
        self, n_startup_trials: int, n_ei_candidates: int, multivariate: bool, parallel: int, **more: Any
    ) -> None:
        check_counts(n_startup_trials=n_startup_trials, n_ei_candidates=n_ei_candidates)
        check_flag("multivariate", multivariate)

        def sampler(_: Mapping[str, Any]) -> Any:
            from optuna.samplers import TPESampler

            return TPESampler(
                n_startup_trials=n_startup_trials,
                n_ei_candidates=n_ei_candidates,
                multivariate=multivariate,
                constant_liar=parallel > 1,
                seed=self.seed,
                **more,
            )

        self.build(sampler)


class MultivariateTPE(OptunaTPE):
    """The tree-structured Parzen estimator of optuna, which models all hyperparameters together.

    group             split the space into groups of hyperparameters that occur together, as in a
                      conditional space; a space of cfo-bench is one group
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_startup_trials: int = 10,
        n_ei_candidates: int = 24,
        group: bool = False,
        parallel: int = 1,
    ) -> None:
        check_flag("group", group)
        OptunaMethod.__init__(self, space, start, seed, parallel)
        self._build_tpe(n_startup_trials, n_ei_candidates, True, parallel, group=group)


class OptunaGP(OptunaMethod):
    """The Gaussian process of optuna, with log expected improvement.

    n_startup_trials         random configurations before the model, the start among them
    deterministic_objective  take the losses for exact, and fit no noise
    parallel                 trials at once
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_startup_trials: int = 10,
        deterministic_objective: bool = False,
        parallel: int = 1,
    ) -> None:
        check_count("n_startup_trials", n_startup_trials)
        check_flag("deterministic_objective", deterministic_objective)
        super().__init__(space, start, seed, parallel)

        def sampler(_: Mapping[str, Any]) -> Any:
            from optuna.samplers import GPSampler

            return GPSampler(
                n_startup_trials=n_startup_trials,
                deterministic_objective=deterministic_objective,
                seed=self.seed,
            )

        self.build(sampler)


class CmaEs(OptunaMethod):
    """The CMA-ES of optuna. Choices without an order are drawn at random: CMA-ES has numbers only.

    n_startup_trials   random configurations before it, the start among them
    sigma0             its first standard deviation; null: a sixth of the shortest range
    popsize            configurations of a generation; null: 4 + 3·ln d, rounded down
    use_separable_cma  adapt the variance of each hyperparameter, and no covariances
    with_margin        keep whole numbers from getting stuck at one value
    lr_adapt           adapt the learning rate, for losses with noise or many valleys
    parallel           trials at once
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_startup_trials: int = 1,
        sigma0: float | None = None,
        popsize: int | None = None,
        use_separable_cma: bool = False,
        with_margin: bool = False,
        lr_adapt: bool = False,
        parallel: int = 1,
    ) -> None:
        check_count("n_startup_trials", n_startup_trials)
        check_length("sigma0", sigma0)
        if popsize is not None:
            check_count("popsize", popsize)
        check_flag("use_separable_cma", use_separable_cma)
        check_flag("with_margin", with_margin)
        check_flag("lr_adapt", lr_adapt)
        if lr_adapt and (use_separable_cma or with_margin):
            raise OptionError("lr_adapt True: optuna has it without use_separable_cma and with_margin only")
        super().__init__(space, start, seed, parallel)

        def sampler(_: Mapping[str, Any]) -> Any:
            from optuna.samplers import CmaEsSampler

            return CmaEsSampler(
                n_startup_trials=n_startup_trials,
                sigma0=sigma0,
                popsize=popsize,
                use_separable_cma=use_separable_cma,
                with_margin=with_margin,
                lr_adapt=lr_adapt,
                seed=self.seed,
            )

        self.build(sampler)


@contextmanager
def no_announcements() -> Iterator[None]:
    """optuna logs every new study, and more, on stderr. Its log level is global, so it is set back."""
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
