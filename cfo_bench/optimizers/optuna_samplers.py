"""Samplers of Optuna: some as methods with names of our own, all as `optuna:NAME`; samplers of OptunaHub.

A study in memory asks the sampler and receives the losses. Its first trial is the start.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cfo_bench.errors import (
    MissingPackageError,
    OptionError,
    UnknownNameError,
    UserError,
    describe,
    install_command,
)
from cfo_bench.optimizers.options import check_count, check_counts, check_flag, check_length
from cfo_bench.optimizers.packaged import FiniteLosses, Packaged, silence
from cfo_bench.records import Result
from cfo_bench.registry import existing_folder
from cfo_bench.space import Categorical, Int, Param, Space

# The largest loss for a sampler with a model: its square is still a finite number.
LARGEST_LOSS = 1e100


class OptunaMethod(Packaged[Any]):
    """A study with one sampler.

    For a sampler that only ranks losses, a failed trial has an infinite loss: with Optuna's status for failed
    trials, it would be ignored, and its region tried again. Other samplers receive the worst loss so far.
    """

    only_ranks = False

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int, parallel: int = 1) -> None:
        super().__init__(space, start, seed, parallel)
        self._losses = FiniteLosses[Any](LARGEST_LOSS)

    def build(self, sampler: Callable[[Mapping[str, Any]], Any]) -> None:
        """Create the study; `sampler` receives the distributions of the searched hyperparameters."""
        if not self.searched:
            return
        with silence(), no_announcements():
            import optuna

            self._distributions = {param.name: _distribution(param) for param in self.searched}
            self._study = optuna.create_study(sampler=sampler(self._distributions))

    def build_with(self, sampler: str, **settings: Any) -> None:
        """Create the study with a sampler of Optuna, given its settings and the seed."""

        self.build(lambda _: samplers()[sampler](seed=self.seed, **settings))

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


class UnivariateTPE(OptunaMethod):
    """The tree-structured Parzen estimator of optuna, which models each hyperparameter by itself.

    n_startup_trials  random configurations before the model, the start among them
    n_ei_candidates   candidates, of which the most promising is taken
    parallel          trials at once
    """

    only_ranks = True
    more: Mapping[str, Any] = MappingProxyType({"multivariate": False})  # parameters of the sampler

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        n_startup_trials: int = 10,
        n_ei_candidates: int = 24,
        parallel: int = 1,
    ) -> None:
        check_counts(n_startup_trials=n_startup_trials, n_ei_candidates=n_ei_candidates)
        super().__init__(space, start, seed, parallel)
        self.build_with(
            "TPESampler", n_startup_trials=n_startup_trials, n_ei_candidates=n_ei_candidates, **self.more
        )


class OptunaTPE(UnivariateTPE):
    """The tree-structured Parzen estimator of optuna. With its defaults it is optuna's default sampler.

    multivariate  model all hyperparameters together, and not each by itself
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        multivariate: bool = True,
        **options: Any,
    ) -> None:
        check_flag("multivariate", multivariate)
        self.more = {"multivariate": multivariate}
        super().__init__(space, start, seed, **options)


class MultivariateTPE(UnivariateTPE):
    """`tpe` under the name that it had before it was optuna's default.

    group  split the space into groups of hyperparameters that occur together, as in a conditional space; a
           space of cfo-bench is one group
    """

    def __init__(
        self, space: Space, start: Mapping[str, Any], seed: int = 0, *, group: bool = False, **options: Any
    ) -> None:
        check_flag("group", group)
        self.more = {"multivariate": True, "group": group}
        super().__init__(space, start, seed, **options)


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
        self.build_with(
            "GPSampler", n_startup_trials=n_startup_trials, deterministic_objective=deterministic_objective
        )


class CmaEs(OptunaMethod):
    """The CMA-ES of optuna. Choices without an order are drawn at random: CMA-ES has numbers only.

    n_startup_trials   random configurations before the first generation, the start among them
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
            raise OptionError("lr_adapt True: not supported with use_separable_cma or with_margin")
        super().__init__(space, start, seed, parallel)
        self.build_with(
            "CmaEsSampler",
            n_startup_trials=n_startup_trials,
            sigma0=sigma0,
            popsize=popsize,
            use_separable_cma=use_separable_cma,
            with_margin=with_margin,
            lr_adapt=lr_adapt,
        )


@contextmanager
def no_announcements() -> Iterator[None]:
    """A context without Optuna's log on stderr. Its log level is global, and restored afterwards."""
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


# --- every sampler of the installed Optuna ---------------------------------------------------------
# The options of these methods are the parameters of the sampler that can be written on a command line:
# numbers, texts, true or false, null. Callables, other samplers and so on keep their defaults.


# Packages that samplers need besides Optuna, and the extra that installs them.
_NEEDS = {"CmaEsSampler": ("cmaes", "baselines"), "GPSampler": ("torch", "dnn")}
# Samplers that only use the order of losses.
_RANKING = ("TPESampler", "NSGAIISampler", "NSGAIIISampler")
_PLAIN = (bool, int, float, str, NoneType)
# A parameter in a Google-style docstring, with its text below it.
_ARGUMENT = re.compile(r"^ {4,8}(?P<name>\w+)( \([^)]*\))?:(?P<text>.*)$")


def sampler_called(name: str) -> type[OptunaMethod]:
    """The method of the sampler with this name in Optuna."""
    known = samplers()
    if name not in known:
        raise UnknownNameError("sampler of optuna", name, known)
    package, extra = _NEEDS.get(name, ("optuna", "baselines"))
    if importlib.util.find_spec(package) is None:
        raise MissingPackageError(f"optuna's {name}", package, install_command(extra))
    return method_of(known[name], f"optuna:{name}")


def samplers() -> dict[str, type[Any]]:
    """The samplers of the installed Optuna."""
    import optuna

    return samplers_of({public: getattr(optuna.samplers, public) for public in optuna.samplers.__all__})


def samplers_of(names: Mapping[str, Any]) -> dict[str, type[Any]]:
    """The values that are concrete classes of samplers."""
    from optuna.samplers import BaseSampler

    return {
        name: value
        for name, value in names.items()
        if inspect.isclass(value) and issubclass(value, BaseSampler) and not inspect.isabstract(value)
    }


def method_of(sampler: type[Any], name: str) -> type[OptunaMethod]:
    """A method whose options are the parameters of a sampler."""
    hints = _hints(sampler)
    parameters = inspect.signature(sampler).parameters
    options: dict[str, Any] = {}
    required: list[str] = []
    given_space = False
    for parameter in parameters.values():
        key, hint = parameter.name, hints.get(parameter.name, parameter.annotation)
        if key == "search_space" and "BaseDistribution" in str(hint):
            given_space = True
        elif key == "seed" or key.startswith("warn_") or parameter.kind in _VARIADIC:
            continue
        elif (plain := _plain_part(hint, parameter.default)) is not None:
            if parameter.default is parameter.empty:
                required.append(key)
                options[key] = (None, plain | None)
            else:
                options[key] = (parameter.default, plain)
        elif parameter.default is parameter.empty:
            raise UserError(f"{name} can't be a method: its {key} can't be given on a command line")

    class Method(OptunaMethod):
        only_ranks = sampler.__module__.startswith("optuna.") and sampler.__name__ in _RANKING
        # Without a seed, a run cannot be replayed.
        replays = "seed" in parameters

        def __init__(
            self, space: Space, start: Mapping[str, Any], seed: int = 0, *, parallel: int = 1, **given: Any
        ) -> None:
            if unknown := given.keys() - options.keys():
                raise TypeError(f"{name} has no option {', '.join(sorted(unknown))}")
            settings = {key: given.get(key, default) for key, (default, _) in options.items()}
            if missing := [key for key in required if settings[key] is None]:
                raise OptionError(f"{name} needs the option {missing[0]}: give it a value")
            super().__init__(space, start, seed, parallel)
            if "seed" in parameters:
                settings["seed"] = self.seed

            def build(distributions: Mapping[str, Any]) -> Any:
                more = {"search_space": dict(distributions)} if given_space else {}
                try:
                    return sampler(**settings, **more)
                except ValueError as error:  # options that exclude each other
                    raise OptionError(f"{name} refuses its options: {describe(error)}") from error

            self.build(build)

    # The registry reads the options from the signature, the annotations and the docstring.
    keywords = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for key, (default, hint) in {**options, "parallel": (1, int)}.items()
    ]
    signature = inspect.signature(Method.__init__)
    positional = [part for part in signature.parameters.values() if part.kind is part.POSITIONAL_OR_KEYWORD]
    signature = signature.replace(parameters=[*positional, *keywords])
    Method.__init__.__signature__ = signature  # type: ignore[attr-defined]
    Method.__init__.__annotations__ = {keyword.name: keyword.annotation for keyword in keywords}
    texts = {**_described(sampler), "parallel": "trials at once"}
    lines = [f"{key.name}  {texts.get(key.name, f'of {sampler.__name__}')}" for key in keywords]
    Method.__doc__ = "\n".join([f"{name}, a sampler of optuna.", "", *lines])
    Method.__name__ = Method.__qualname__ = sampler.__name__
    return Method


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _hints(sampler: type[Any]) -> dict[str, Any]:
    """The types of a sampler's parameters. Each is resolved separately, because some cannot be resolved."""
    constructor = inspect.unwrap(sampler.__init__)
    hints: dict[str, Any] = {}
    for key, annotation in getattr(constructor, "__annotations__", {}).items():

        class Annotated:
            __annotations__ = {key: annotation}

        try:
            hints |= get_type_hints(Annotated, getattr(constructor, "__globals__", {}))
        except Exception:  # a type that only type checkers import
            hints[key] = annotation
    return hints


def _plain_part(hint: Any, default: Any) -> Any:
    """The part of a type that can be written on a command line; None if only null can be."""
    if hint is inspect.Parameter.empty or hint is Any:
        if default is None or not isinstance(default, _PLAIN):
            return None
        return type(default)
    if get_origin(hint) is Literal:
        return hint
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = [part for part in parts if part in _PLAIN or get_origin(part) is Literal]
    if not plain or set(plain) == {NoneType}:
        return None
    return Union[tuple(plain)]  # noqa: UP007


def _described(sampler: type[Any]) -> dict[str, str]:
    """The first sentence about each parameter in a Google-style docstring."""
    _, _, section = inspect.cleandoc(sampler.__doc__ or "").partition("\nArgs:\n")
    described: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            break
        if start := _ARGUMENT.match(line):
            texts = described.setdefault(start["name"], [start["text"]])
        else:
            texts.append(line)
    return {key: _first_sentence(" ".join(lines)) for key, lines in described.items()}


def _first_sentence(text: str) -> str:
    words = " ".join(re.sub(r":\w+:`~?([^`]*)`|``([^`]*)``", r"\1\2", text).split())
    sentence, stop, _ = words.partition(". ")
    return f"{sentence}." if stop else words


# --- samplers of OptunaHub -------------------------------------------------------------------------
# The packages are in local folders. Nothing is downloaded.


def hub_sampler_called(place: str) -> type[OptunaMethod]:
    """The method of a sampler class of an OptunaHub package: `FOLDER:Class`."""
    path, _, name = place.rpartition(":")
    folder = existing_folder(path, "optunahub")
    if not (folder / "__init__.py").is_file():
        raise UserError(f"folder {path!r} has no __init__.py: give the folder of an OptunaHub package")
    import optunahub

    try:
        with silence(), no_announcements():
            module = optunahub.load_local_module(folder.name, registry_root=str(folder.parent))
    except Exception as error:  # a third-party package may raise anything when it is imported
        raise UserError(
            f"the OptunaHub package {path!r} can't be imported: correct it, or install what it needs "
            f"({describe(error)})"
        ) from error
    classes = samplers_of(vars(module))
    if name not in classes:
        raise UnknownNameError(f"sampler of the OptunaHub package {path!r},", name, classes)
    return method_of(classes[name], f"optunahub:{place}")
