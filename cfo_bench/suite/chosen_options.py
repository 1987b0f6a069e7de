"""The options of each method and learner of a suite: the given ones, checked, over the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cfo_bench.errors import OptionError, UserError, at_place
from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from cfo_bench.registry import ESTIMATOR, Registry, family_of, is_users_code
from cfo_bench.suite.choices import Choice


def method_options(
    choices: Sequence[Choice], given: Mapping[str, Any], parallel: int, *, import_files: bool = True
) -> list[Choice]:
    """Each method with all its options.

    An option that is `given` replaces that of the choice, which replaces the method's default. `name.key`
    gives an option to one method or variant, `key` to all of them. Without `import_files`, a method of a
    local file or program has the options that it is given, unchecked.
    """
    choices = [_checked_variant(choice) for choice in choices]
    for choice in choices:
        for key in choice.options:
            with at_place(choice.places.get(key, "")):
                _refuse_reserved(key)
    for key in given:
        _refuse_reserved(key.rpartition(".")[2])
    methods = []
    for choice, options in _each(METHODS, choices, given, import_files):
        if not import_files and is_users_code(choice.name):
            pass  # it is unknown whether it supports parallel trials
        elif "parallel" in options:
            options["parallel"] = parallel
        elif parallel > 1:
            with at_place(choice.place):
                raise OptionError(
                    f"--parallel {parallel}: method {choice.name!r} runs one trial at a time; leave it out"
                )
        methods.append(replace(choice, options=options))
    return methods


def learner_options(
    choices: Sequence[Choice], given: Mapping[str, Any], *, import_files: bool = True
) -> list[Choice]:
    """The same for learners."""
    each = _each(LEARNERS, choices, given, import_files)
    return [replace(choice, options=options) for choice, options in each]


def _checked_variant(choice: Choice) -> Choice:
    """A variant must not have the name of another method. With the name of its own method, it is not a
    variant.
    """
    variant = choice.variant
    if variant == replace(choice, variant="").label:
        return replace(choice, variant="")
    with at_place(choice.place):
        is_family = family_of(variant) in METHODS.families and not variant.startswith(f"{choice.name}@")
        if variant in METHODS.rows() or is_family:
            raise UserError(f"{variant!r} is the name of another method: give {choice.name} another name")
        if variant and (row := METHODS.row(choice.name)).learner is not None:
            raise UserError(
                f"{variant!r}: {choice.name} is a reference that scores are scaled by, and has no variants "
                f"({row.summary}): leave out its name"
            )
    return choice


# The options of a method that a run sets, each with where its value comes from.
_SET_BY_THE_RUN = {
    "parallel": "the number of trials at once is given by --parallel",
    "n_rows": "it is the number of training rows of each fold; leave it out",
    "cost_related": "it is the learner's hyperparameters that decide the cost; leave it out",
    "budget_seconds": "it is the budget of the run, given by --budget; leave it out",
}


def _refuse_reserved(key: str) -> None:
    if key in _SET_BY_THE_RUN:
        raise OptionError(f"option {key!r}: {_SET_BY_THE_RUN[key]}")


def _each(
    registry: Registry, choices: Sequence[Choice], given: Mapping[str, Any], import_files: bool
) -> list[tuple[Choice, dict[str, Any]]]:
    """Each choice with its options. A repeated choice counts once. Two different choices that would share a
    folder of traces are an error.
    """
    kind = registry.kind
    chosen = list(
        {(choice.name, repr(choice.options), choice.variant): choice for choice in choices}.values()
    )
    labels = [choice.label for choice in chosen]
    for choice, name in zip(chosen, labels, strict=True):
        if labels.count(name) > 1:
            with at_place(choice.place):
                raise UserError(
                    f"{kind} {choice.name!r}: another {kind} also has the name {name!r}, which is part of "
                    f"the path of its traces: {_other_name(choice, kind)}"
                )
    unknown = {key.rpartition(".")[0] for key in given if "." in key} - set(labels)
    if unknown:
        raise OptionError(
            f"options for {', '.join(sorted(unknown))}, which is not among the {kind}s {', '.join(labels)}"
        )
    return [
        (choice, _options_of(registry, choice, given, len(chosen) > 1))
        if import_files or not is_users_code(choice.name)
        else (choice, _unchecked_options(registry, choice, given))
        for choice in chosen
    ]


def _other_name(choice: Choice, kind: str) -> str:
    """The remedy in an error: how to give a method or learner another label."""
    if kind == METHODS.kind:
        name = choice.label
        return f"give it a name of its own, as in name: my-{name} in a suite file or --name my-{name}"
    is_estimator = family_of(choice.name) == ESTIMATOR
    rename = "return each from a function of its own (file.py:name)" if is_estimator else "rename the class"
    return f"{rename}, or use two commands, each with its own --results"


def _options_of(
    registry: Registry, choice: Choice, given: Mapping[str, Any], is_one_of_several: bool
) -> dict[str, Any]:
    name = choice.name
    with at_place(choice.place):
        registry.options(name, {})
    for key, value in choice.options.items():
        with at_place(choice.places.get(key, "")):
            registry.options(name, {key: value})
    try:
        return registry.options(name, {**choice.options, **_given_to(choice, given)})
    except OptionError as error:
        flag = "--option METHOD" if registry is METHODS else "--learner-option LEARNER"
        hint = f" (for one {registry.kind} only: {flag}.KEY=VALUE)" if is_one_of_several else ""
        raise OptionError(f"{error}{hint}") from None


def _unchecked_options(registry: Registry, choice: Choice, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a class in a local file that must not be imported, or of a program."""
    with at_place(choice.place):
        registry.check_users_code(choice.name)
    return {**choice.options, **_given_to(choice, given)}


def _given_to(choice: Choice, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key.rpartition(".")[2]: value
        for key, value in given.items()
        if key.rpartition(".")[0] in ("", choice.label)
    }
