"""Options in words: from `key=value`, as after `--option`, to values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cfo_bench import quantities, yaml_file
from cfo_bench.errors import OptionError, UserError


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


def split_list(text: str) -> list[str]:
    """`delta_init=1,scale=ln` as its words. A comma that no `key=` follows is part of a value."""
    return re.split(r",(?=[A-Za-z_]\w*=)", text)


def as_option(value: Any) -> Any:
    """The value of an option: YAML takes 1e-3 for text, here it is a number."""
    is_number = isinstance(value, str) and re.fullmatch(f"[+-]?{quantities.NUMBER}", value)
    return float(value) if is_number and "e" in value.lower() else value
