"""The options of each method and learner of a suite: those that were given, checked, over the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cfo_bench.errors import OptionError, UserError, told_at
from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from cfo_bench.registry import Registry, existing_file, is_in_file, label
from cfo_bench.suite.model import Choice

# Names with all their options.
Chosen = list[tuple[str, dict[str, Any]]]


def method_options(
    choices: Sequence[Choice], given: Mapping[str, Any], parallel: int, *, import_files: bool = True
) -> Chosen:
    """Each method with all its options.

    An option that is `given` replaces that of the choice, which replaces the method's default. `name.key`
    gives an option to one method, `key` to all of them. Without `import_files`, a method of a local file
    has the options that it is given, unchecked.
    """
    for choice in choices:
        for key in choice.options:
            with told_at(choice.places.get(key, "")):
                _refuse_reserved(key)
    for key in given:
        _refuse_reserved(key.rpartition(".")[2])
    found = []
    for choice, options in _each(METHODS, choices, given, import_files):
        if not import_files and is_in_file(choice.name):
            pass  # whether it takes several trials at a time is not known
        elif "parallel" in options:
            options["parallel"] = parallel
        elif parallel > 1:
            with told_at(choice.place):
                raise OptionError(
                    f"--parallel {parallel}: method {choice.name!r} takes one trial at a time; leave it out"
                )
        found.append((choice.name, options))
    return found


def learner_options(
    choices: Sequence[Choice], given: Mapping[str, Any], *, import_files: bool = True
) -> Chosen:
    """The same for learners."""
    return [(choice.name, options) for choice, options in _each(LEARNERS, choices, given, import_files)]


def _refuse_reserved(key: str) -> None:
    """Some parameters of a method are set by the harness."""
    if key == "parallel":
        raise OptionError("option 'parallel': the number of trials at once is given by --parallel")
    if key == "n_rows":
        raise OptionError("option 'n_rows': it is the number of training rows of each fold; leave it out")


def _each(
    registry: Registry, choices: Sequence[Choice], given: Mapping[str, Any], import_files: bool
) -> list[tuple[Choice, dict[str, Any]]]:
    """A choice that is made twice counts once; two that would share a folder of traces are an error."""
    kind = registry.kind
    chosen = list({(choice.name, repr(choice.options)): choice for choice in choices}.values())
    labels = [label(choice.name) for choice in chosen]
    for choice, short in zip(chosen, labels, strict=True):
        if labels.count(short) > 1:
            with told_at(choice.place):
                raise UserError(
                    f"{kind} {choice.name!r} is not the only one called {short!r}, and traces go by that "
                    "name: rename the class, or use two commands with a --results each"
                )
    strangers = {key.rpartition(".")[0] for key in given if "." in key} - set(labels)
    if strangers:
        raise OptionError(
            f"options for {', '.join(sorted(strangers))}, which is not among the {kind}s {', '.join(labels)}"
        )
    return [
        (choice, _options_of(registry, choice, given, len(chosen) > 1))
        if import_files or not is_in_file(choice.name)
        else (choice, _unchecked_options(choice, given))
        for choice in chosen
    ]


def _options_of(
    registry: Registry, choice: Choice, given: Mapping[str, Any], is_one_of_many: bool
) -> dict[str, Any]:
    name = choice.name
    with told_at(choice.place):
        registry.options(name, {})
    for key, value in choice.options.items():
        with told_at(choice.places.get(key, "")):
            registry.options(name, {key: value})
    try:
        return registry.options(name, {**choice.options, **_given_to(name, given)})
    except OptionError as error:
        flag = "--option METHOD" if registry is METHODS else "--learner-option LEARNER"
        hint = f" (for one {registry.kind} only: {flag}.KEY=VALUE)" if is_one_of_many else ""
        raise OptionError(f"{error}{hint}") from None


def _unchecked_options(choice: Choice, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of a class in a local file that must not be imported."""
    with told_at(choice.place):
        existing_file(choice.name)
    return {**choice.options, **_given_to(choice.name, given)}


def _given_to(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key.rpartition(".")[2]: value
        for key, value in given.items()
        if key.rpartition(".")[0] in ("", label(name))
    }
