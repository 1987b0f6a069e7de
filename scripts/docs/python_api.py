"""The page of the Python API: signatures, and what docstrings and comments say about each part.

A function's docstring has a line for each parameter, and one for what it returns. A field of a record is
explained by the comment behind it, or above it.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ForwardRef

import cfo_bench
from cfo_bench import errors, plugins, registry, testing
from cfo_bench.settings import settings_of
from scripts.docs import markdown

# What the functions of `cfo_bench` return, and what `run_suite` tells its callback.
RETURNED = {
    "cfo_bench.minimization": ["Best"],
    "cfo_bench.engines.suite_runs": [
        "SuiteRuns", "SuiteOutcome",
        "Preparing", "Prepared", "RunsStarted", "RunsUnderWay", "Note", "RunFinished",
    ],
    "cfo_bench.results.frames": ["ResultFrames"],
    "cfo_bench.report.build": ["Built"],
    "cfo_bench.surrogates.library": ["SurrogateFit", "TaskFit"],
}  # fmt: skip
INTRO = (
    "Everything that a Python program may use. [Use it from Python](../python.md) shows how the parts work "
    "together. Names that are not on this page may change without notice."
)


def page() -> str:
    return markdown.page("Python API", INTRO, _sections())


def public() -> dict[str, Any]:
    """Everything that has an entry of its own, by its full name."""
    found = {f"cfo_bench.{name}": getattr(cfo_bench, name) for name in cfo_bench.__all__}
    for module, names in RETURNED.items():
        loaded = importlib.import_module(module)
        found |= {f"{module}.{name}": getattr(loaded, name) for name in names}
    if importlib.util.find_spec("optuna") is not None:
        from cfo_bench.optuna import CFOSampler

        found["cfo_bench.optuna.CFOSampler"] = CFOSampler
    return found


def _sections() -> Iterator[str]:
    entries = public()
    functions = {name: one for name, one in entries.items() if inspect.isfunction(one)}
    yield "## Functions"
    for name, one in functions.items():
        yield function_entry(name, one)
    yield "## Classes"
    for name, one in entries.items():
        if name not in functions:
            yield class_entry(name, one)
    yield "## Errors"
    yield "All are in `cfo_bench.errors`. The text of each is one line.\n\n" + markdown.table(
        ["error", "extends", "when"],
        [
            (markdown.code(name), markdown.code(one.__bases__[0].__name__), _prose(one))
            for name, one in vars(errors).items()
            if inspect.isclass(one) and issubclass(one, errors.CfoBenchError)
        ],
    )
    yield "## For plug-ins"
    yield "`from cfo_bench.plugins import …`; [Write a plug-in](../extending.md) shows how they are used.\n\n"
    yield _names(plugins)
    yield "## For tests of plug-ins"
    yield "`from cfo_bench.testing import …`; each is a base class for a test class of yours."
    yield _names(testing)


def _names(module: Any) -> str:
    values = {name: getattr(module, name) for name in module.__all__}
    rows = [
        (markdown.code(name), _prose(value))
        for name, value in values.items()
        if inspect.isclass(value) or inspect.isfunction(value)
    ]
    return markdown.table(["name", "what it is"], rows)


def _prose(one: Any) -> str:
    """The first paragraph of a docstring; none where a dataclass made it."""
    text = _prose_of(vars(one).get("__doc__") if inspect.isclass(one) else one.__doc__)
    return "" if text.startswith(f"{one.__name__}(") else text


def _prose_of(docstring: str | None) -> str:
    return registry.split_docstring(docstring)[0].split("\n\n")[0].replace("<", "&lt;")


# --- functions ------------------------------------------------------------------------------------


def function_entry(name: str, function: Callable[..., Any]) -> str:
    prose, described = registry.split_docstring(function.__doc__)
    signature = inspect.signature(function)
    returned = markdown.code(_type(signature.return_annotation))
    parts = [
        f"### {markdown.code(name)}",
        _with_examples(prose),
        parameters(signature, described),
        f"Returns {returned}: {described.get('returns', '')}.",
    ]
    return "\n\n".join(parts)


def parameters(signature: inspect.Signature, described: dict[str, str]) -> str:
    rows = []
    for one in signature.parameters.values():
        is_rest = one.kind is one.VAR_KEYWORD
        name = f"**{one.name}" if is_rest else one.name
        default = "" if is_rest else _default(one.default)
        rows.append(
            (markdown.code(name), markdown.code(_type(one.annotation)), default, described.get(one.name, ""))
        )
    return markdown.table(["parameter", "type", "default", "what it is"], rows)


def _type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text)


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return "required"
    if inspect.isfunction(value):
        return "does nothing"
    if dataclasses.is_dataclass(value):
        return "none"
    return markdown.code(repr(value))


def _with_examples(prose: str) -> str:
    """Prose whose examples are blocks of code."""
    shown = []
    for paragraph in prose.replace("<", "&lt;").split("\n\n"):
        is_example = paragraph.startswith(">>>")
        code = paragraph.replace("&lt;", "<")
        shown.append(f"```pycon\n{code}\n```" if is_example else markdown.linked(paragraph))
    return "\n\n".join(shown)


# --- classes --------------------------------------------------------------------------------------


def class_entry(name: str, cls: type[Any]) -> str:
    prose, described = registry.split_docstring(vars(cls).get("__doc__"))
    parts = [
        f"### {markdown.code(name)}",
        "" if prose.startswith(f"{cls.__name__}(") else _with_examples(prose),
    ]
    if issubclass(cls, enum.Enum):
        comments = comments_of(cls)
        rows = [(markdown.code(f"{one.name} = {one.value!r}"), comments.get(one.name, "")) for one in cls]
        parts.append(markdown.table(["value", "when"], rows))
    elif fields := fields_of(cls):
        parts.append(markdown.table(["field", "type", "default", "what it is"], fields))
    elif described:
        parts.append(parameters(inspect.signature(cls), described))
    parts.append(_members(cls))
    return "\n\n".join(part for part in parts if part)


def fields_of(cls: type[Any]) -> list[tuple[str, str, str, str]]:
    """Name, type, default and meaning of each field of a record."""
    described = {"name": "its name", **comments_of(cls), **registry.documented_parameters(cls)}
    settings = {}
    if dataclasses.is_dataclass(cls):
        settings = {
            one.name: (one.in_file or one.help).replace("this file", "the suite") for one in settings_of(cls)
        }
        named = [
            (one.name, one.type, _field_default(one))
            for one in dataclasses.fields(cls)
            if one.repr and not one.name.startswith("_")
        ]
    elif hasattr(cls, "_fields"):
        defaults = cls._field_defaults
        empty = inspect.Parameter.empty
        named = [
            (name, cls.__annotations__[name], _default(defaults.get(name, empty))) for name in cls._fields
        ]
    else:
        return []
    return [
        (
            markdown.code(name),
            markdown.code(_type(kind)),
            default,
            settings.get(name) or described.get(name, ""),
        )
        for name, kind, default in named
    ]


def _field_default(field: dataclasses.Field[Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return markdown.code(repr(field.default_factory()))
    missing = field.default is dataclasses.MISSING
    return _default(inspect.Parameter.empty if missing else field.default)


def comments_of(cls: type[Any]) -> dict[str, str]:
    """The comment behind each field of a class, or else the one right above it."""
    found, above = {}, ""
    for line in inspect.getsource(cls).splitlines():
        comment = re.match(r"^    # (?P<text>.+)$", line)
        field = re.match(r"^    (?P<name>\w+)(?:: [^#]+| = [^#]+?)(?:  # (?P<text>.+))?$", line)
        if comment:
            above = f"{above} {comment['text']}".strip()
        elif field:
            found[field["name"]] = field["text"] or above
            above = ""
        else:
            above = ""
    return {name: text for name, text in found.items() if text}


def _members(cls: type[Any]) -> str:
    """The public methods and properties that have a docstring, also those that it inherits from us."""
    rows = {}
    for base in reversed(cls.__mro__):
        for name, one in vars(base).items() if base.__module__.startswith("cfo_bench") else ():
            plain = one.__func__ if isinstance(one, classmethod | staticmethod) else one
            if name.startswith("_") or not getattr(plain, "__doc__", None):
                continue
            if inspect.isfunction(plain):
                rows[name] = (markdown.code(f"{name}{_call(plain)}"), _prose_of(plain.__doc__))
            elif isinstance(plain, property | cached_property):
                rows[name] = (markdown.code(name), _prose_of(plain.__doc__))
    return markdown.table(["member", "what it does"], rows.values()) if rows else ""


def _call(function: Callable[..., Any]) -> str:
    """`(rng: Generator) -> Config`, without `self` and without the modules of types."""
    signature = inspect.signature(function)
    kept = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in signature.parameters.values()
        if one.name not in ("self", "cls")
    ]
    returned = _type(signature.return_annotation)
    return f"({', '.join(map(str, kept))}){f' → {returned}' if returned != 'None' else ''}"
