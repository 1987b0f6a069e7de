"""Every sampler of the installed optuna as a method.

The options of such a method are the sampler's own parameters, as far as a command line can give them:
numbers, texts, true or false, null. Callables, other samplers and the like keep their defaults.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cfo_bench.errors import MissingPackageError, OptionError, UnknownNameError, UserError, describe
from cfo_bench.optimizers.optuna_samplers import OptunaMethod
from cfo_bench.space import Space

# What samplers of optuna need besides optuna, and the extra that brings it.
_NEEDS = {"CmaEsSampler": ("cmaes", "baselines"), "GPSampler": ("torch", "dnn")}
# Those that look at the order of losses only.
_RANKING = ("TPESampler", "NSGAIISampler", "NSGAIIISampler")
_PLAIN = (bool, int, float, str, NoneType)
# A parameter in a docstring of Google's style, with its text below it.
_ARGUMENT = re.compile(r"^ {4,8}(?P<name>\w+)( \([^)]*\))?:(?P<text>.*)$")


def sampler_called(name: str) -> type[OptunaMethod]:
    """The method of the sampler that optuna calls so."""
    import optuna

    known = samplers_of({one: getattr(optuna.samplers, one) for one in optuna.samplers.__all__})
    if name not in known:
        raise UnknownNameError("sampler of optuna", name, known)
    package, extra = _NEEDS.get(name, ("optuna", "baselines"))
    if importlib.util.find_spec(package) is None:
        raise MissingPackageError(f"optuna's {name}", package, f"pip install 'cfo-bench[{extra}]'")
    return method_of(known[name], f"optuna:{name}")


def samplers_of(names: Mapping[str, Any]) -> dict[str, type[Any]]:
    """The classes among them that are samplers and can be made."""
    from optuna.samplers import BaseSampler

    return {
        name: found
        for name, found in names.items()
        if inspect.isclass(found) and issubclass(found, BaseSampler) and not inspect.isabstract(found)
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
        # Without a seed, nothing makes it do the same again.
        replays = "seed" in parameters

        def __init__(
            self, space: Space, start: Mapping[str, Any], seed: int = 0, *, parallel: int = 1, **given: Any
        ) -> None:
            if strangers := given.keys() - options.keys():
                raise TypeError(f"{name} has no option {', '.join(sorted(strangers))}")
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

    # What lists and checks the options reads the signature, the annotations and the docstring.
    own = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for key, (default, hint) in {**options, "parallel": (1, int)}.items()
    ]
    signature = inspect.signature(Method.__init__)
    fixed = [one for one in signature.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    Method.__init__.__signature__ = signature.replace(parameters=[*fixed, *own])  # type: ignore[attr-defined]
    Method.__init__.__annotations__ = {one.name: one.annotation for one in own}
    does = {**_described(sampler), "parallel": "trials at once"}
    lines = [f"{one.name}  {does.get(one.name, f'of {sampler.__name__}')}" for one in own]
    Method.__doc__ = "\n".join([f"{name}, a sampler of optuna.", "", *lines])
    Method.__name__ = Method.__qualname__ = sampler.__name__
    return Method


_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _hints(sampler: type[Any]) -> dict[str, Any]:
    """The types of a sampler's parameters, each by itself: one that can't be resolved spoils no other."""
    constructor = inspect.unwrap(sampler.__init__)
    found: dict[str, Any] = {}
    for key, annotation in getattr(constructor, "__annotations__", {}).items():

        class One:
            __annotations__ = {key: annotation}

        try:
            found |= get_type_hints(One, getattr(constructor, "__globals__", {}))
        except Exception:  # a type that only type checkers import
            found[key] = annotation
    return found


def _plain_part(hint: Any, default: Any) -> Any:
    """What of a type can be given on a command line; None if nothing but null can."""
    if hint is inspect.Parameter.empty or hint is Any:
        if default is None or not isinstance(default, _PLAIN):
            return None
        return type(default)
    if get_origin(hint) is Literal:
        return hint
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    plain = [one for one in parts if one in _PLAIN or get_origin(one) is Literal]
    if not plain or set(plain) == {NoneType}:
        return None
    return Union[tuple(plain)]  # noqa: UP007


def _described(sampler: type[Any]) -> dict[str, str]:
    """The first sentence about each parameter in a docstring of Google's style."""
    _, _, section = inspect.cleandoc(sampler.__doc__ or "").partition("\nArgs:\n")
    found: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            break
        if start := _ARGUMENT.match(line):
            texts = found.setdefault(start["name"], [start["text"]])
        else:
            texts.append(line)
    return {key: _first_sentence(" ".join(lines)) for key, lines in found.items()}


def _first_sentence(text: str) -> str:
    words = " ".join(re.sub(r":\w+:`~?([^`]*)`|``([^`]*)``", r"\1\2", text).split())
    sentence, stop, _ = words.partition(". ")
    return f"{sentence}." if stop else words
