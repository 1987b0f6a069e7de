"""`--option key=value`: from words to the options of each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from cfo_bench.errors import OptionError, UserError
from cfo_bench.optimizers import METHODS
from cfo_bench.registry import label


def parse_options(words: Sequence[str]) -> dict[str, Any]:
    """Values as YAML reads them: numbers, true and false, null, text; 1e-3 is a number too."""
    import yaml

    found: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not (key and equals):
            raise OptionError(f"option {word!r}: write key=value")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            raise OptionError(
                f"option {word!r}: {text!r} is not a value; put quotes around odd text"
            ) from None
        if isinstance(value, str):
            with suppress(ValueError):
                value = float(value)
        found[key] = value
    return found


def method_options(
    names: Sequence[str], given: Mapping[str, Any], workers: int
) -> list[tuple[str, dict[str, Any]]]:
    """Each method with all its options. `name.key=value` is for one method, `key=value` for all.

    A method named twice is one method; two that would share a folder of traces are an error.
    """
    names = list(dict.fromkeys(names))
    labels = [label(name) for name in names]
    for name, short in zip(names, labels, strict=True):
        if labels.count(short) > 1:
            raise UserError(
                f"method {name!r} is not the only one called {short!r}, and traces go by that name: "
                "rename the class, or use two commands with a --results each"
            )
    strangers = {key.rpartition(".")[0] for key in given if "." in key} - set(labels)
    if strangers:
        raise OptionError(
            f"options for {', '.join(sorted(strangers))}, which is not among the methods {', '.join(labels)}"
        )
    return [(name, _options_of(name, given, workers, len(names) > 1)) for name in names]


def _options_of(name: str, given: Mapping[str, Any], workers: int, is_one_of_many: bool) -> dict[str, Any]:
    mine = {
        key.rpartition(".")[2]: value
        for key, value in given.items()
        if key.rpartition(".")[0] in ("", label(name))
    }
    if "workers" in mine:
        raise OptionError("option 'workers': the number of trials at once is given by --workers")
    if "n_rows" in mine:
        raise OptionError("option 'n_rows': it is the number of training rows of each fold; leave it out")
    try:
        options = METHODS.options(name, mine)
    except OptionError as error:
        hint = " (for one method only: --option METHOD.KEY=VALUE)" if is_one_of_many else ""
        raise OptionError(f"{error}{hint}") from None
    if "workers" in options:
        options["workers"] = workers
    elif workers > 1:
        raise OptionError(f"--workers {workers}: method {name!r} takes one trial at a time; leave it out")
    return options
