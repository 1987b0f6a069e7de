"""The parameters of a class's constructor: which there are, and whether a value fits its annotation.

The values come from a command line or a file.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_PARAMETER = re.compile(r"(?P<name>[a-z_][a-z0-9_]*) {2,}(?P<text>\S.*)")

_WORDS: dict[Any, str] = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "text",
    NoneType: "null",
    list: "a list",
    Any: "anything",
}


def parameter_types(cls: type[Any]) -> dict[str, Any]:
    """The annotations of a constructor; none if one of them names a type that only type checkers import."""
    types: dict[str, Any] = {}
    try:
        for constructor in constructors(cls):
            types |= get_type_hints(constructor)
    except NameError:
        return {}
    return types


def constructors(cls: type[Any]) -> list[Callable[..., None]]:
    """What a class takes options by: its constructor, after that of the class it extends if it passes
    `**options` on to that one.
    """
    found: list[Callable[..., None]] = []
    for base in cls.__mro__:
        if "__init__" in vars(base):
            found.insert(0, vars(base)["__init__"])
            parameters = inspect.signature(found[0]).parameters.values()
            if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
                break
    return found


def documented_parameters(cls: type[Any]) -> dict[str, str]:
    """What the docstrings of a class, and of those that it extends, say about each parameter."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= split_docstring(vars(base).get("__doc__"))[1]
    return found


def split_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The prose of a docstring, and what it says about each parameter.

    A parameter has a line of its own: its name, two spaces or more, and what it does. Lines that are
    indented further continue it. What a function returns is called `returns`.
    """
    prose, found, name = [], dict[str, str](), ""
    for line in inspect.cleandoc(docstring or "").splitlines():
        if start := _PARAMETER.match(line):
            name = start["name"]
            found[name] = start["text"]
        elif name and line.startswith("  "):
            found[name] += f" {line.strip()}"
        else:
            name = ""
            prose.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(prose)).strip(), found


def fits(value: object, hint: Any) -> bool:
    """Whether a value fits a type. A whole number is a number, and true is neither.

    A type that can't be checked, such as a Protocol, fits anything.
    """
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in get_args(hint))
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(hint))
    if hint is float or hint is int:
        return isinstance(value, int | hint) and not isinstance(value, bool)
    kind = origin or hint
    try:
        return not isinstance(kind, type) or isinstance(value, kind)
    except TypeError:  # Any, a Protocol: these can't be checked
        return True


def in_words(hint: Any) -> str:
    """A type for people: `float | None` is "a number or null"."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(in_words(one) for one in get_args(hint))
    if get_origin(hint) is Literal:
        return " or ".join(str(choice) for choice in get_args(hint))
    return _WORDS.get(get_origin(hint) or hint, getattr(hint, "__name__", str(hint)))
