"""`--option key=value`: from words to the options of each method and learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cfo_bench import yaml_file
from cfo_bench.errors import OptionError, UserError, told_at
from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from cfo_bench.registry import Registry, label
from cfo_bench.suite.file import as_option
from cfo_bench.suite.model import Choice

Chosen = list[tuple[str, dict[str, Any]]]


def parse_options(words: Sequence[str]) -> dict[str, Any]:
    """Values as in a suite file: numbers, true and false, null, text; 1e-3 is a number too."""
    return {key: as_option(value) for key, value in parse_values(words).items()}


def parse_values(words: Sequence[str]) -> dict[str, Any]:
    """The same as YAML has it, 1e-3 as text."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not (key and equals):
            raise OptionError(f"option {word!r}: write key=value")
        try:
            found[key] = yaml_file.parse(text, word).plain()
        except UserError:
            raise OptionError(
                f"option {word!r}: {text!r} is not a value; put quotes around odd text"
            ) from None
    return found


def method_options(choices: Sequence[Choice], given: Mapping[str, Any], parallel: int) -> Chosen:
    """Each method with all its options: the command line's over the file's over its own defaults.

    `name.key` is for one method, `key` for all of them.
    """
    for choice in choices:
        for key in choice.options:
            with told_at(choice.places.get(key, "")):
                _refuse_what_is_ours(key)
    for key in given:
        _refuse_what_is_ours(key.rpartition(".")[2])
    found = []
    for choice, options in _each(METHODS, choices, given):
        if "parallel" in options:
            options["parallel"] = parallel
        elif parallel > 1:
            with told_at(choice.place):
                raise OptionError(
                    f"--parallel {parallel}: method {choice.name!r} takes one trial at a time; leave it out"
                )
        found.append((choice.name, options))
    return found


def learner_options(choices: Sequence[Choice], given: Mapping[str, Any]) -> Chosen:
    """The same for learners."""
    return [(choice.name, options) for choice, options in _each(LEARNERS, choices, given)]


def _refuse_what_is_ours(key: str) -> None:
    if key == "parallel":
        raise OptionError("option 'parallel': the number of trials at once is given by --parallel")
    if key == "n_rows":
        raise OptionError("option 'n_rows': it is the number of training rows of each fold; leave it out")


def _each(
    registry: Registry, choices: Sequence[Choice], given: Mapping[str, Any]
) -> list[tuple[Choice, dict[str, Any]]]:
    """What is named twice is one; two that would share a folder of traces are an error."""
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
    return [(choice, _options_of(registry, choice, given, len(chosen) > 1)) for choice in chosen]


def _options_of(
    registry: Registry, choice: Choice, given: Mapping[str, Any], is_one_of_many: bool
) -> dict[str, Any]:
    name = choice.name
    with told_at(choice.place):
        registry.options(name, {})
    for key, value in choice.options.items():
        with told_at(choice.places.get(key, "")):
            registry.options(name, {key: value})
    mine = {
        key.rpartition(".")[2]: value
        for key, value in given.items()
        if key.rpartition(".")[0] in ("", label(name))
    }
    try:
        return registry.options(name, {**choice.options, **mine})
    except OptionError as error:
        flag = "--option METHOD" if registry is METHODS else "--learner-option LEARNER"
        hint = f" (for one {registry.kind} only: {flag}.KEY=VALUE)" if is_one_of_many else ""
        raise OptionError(f"{error}{hint}") from None
