"""The words after `--option`: from `key=value` to values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cfo_bench import yaml_file
from cfo_bench.errors import OptionError, UserError
from cfo_bench.suite.choices import as_option


def parse_options(words: Sequence[str]) -> dict[str, Any]:
    """Values as in a suite file: numbers, true and false, null, text; 1e-3 is a number too."""
    return {key: as_option(value) for key, value in parse_values(words).items()}


def parse_values(words: Sequence[str]) -> dict[str, Any]:
    """The same, but 1e-3 stays the text that it is in YAML."""
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
