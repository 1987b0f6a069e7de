"""Python objects as JSON: an estimator with its parameters, as it is written to a suite file or a trace.

`{"estimator": "sklearn.svm.SVC", "fixed": {"C": 2.0}}` is an object of a class, or the result of a function,
with these parameters; `{"import": "numpy.log1p"}` is a function or a class itself, and `{"tuple": [1, 2]}` a
tuple. Other values are unchanged. A reference is `package.module.Name` or `path/to/file.py:name`.

Only `build` imports anything; `references` lists what it will import.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from cfo_bench.errors import UserError, describe, did_you_mean
from cfo_bench.registry import LOCAL_MODULE, imported_module, is_python_file
from cfo_bench.space import PLAIN_TYPES, without_numpy

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
OBJECT, PARAMETERS, IMPORT, TUPLE = "estimator", "fixed", "import", "tuple"

REFERENCE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+|[^\n:]+\.py:[A-Za-z_]\w*"
REFERENCE_RULE = "write package.module.Name, or path/to/file.py:name"


def is_reference(text: str) -> bool:
    return re.fullmatch(REFERENCE, text) is not None


def described(value: Any) -> Any:
    """An object as JSON; a UserError if the parameters of its class do not determine it.

    Parameters that have their defaults are left out.
    """
    value = without_numpy(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {IMPORT: "math.nan"} if math.isnan(value) else _described_infinity(value)
    if type(value) in PLAIN_TYPES:
        return value
    if isinstance(value, list):
        return [described(item) for item in value]
    if isinstance(value, tuple):
        return {TUPLE: [described(item) for item in value]}
    if isinstance(value, dict) and all(type(key) is str for key in value):
        return {key: described(item) for key, item in value.items()}
    if callable(value) and hasattr(value, "__name__"):  # a class or a function
        return {IMPORT: reference_to(value)}
    parameters = _parameters(value)
    return {OBJECT: reference_to(type(value)), **({PARAMETERS: parameters} if parameters else {})}


def references(description: Any) -> Iterator[str]:
    """Everything that `build` imports for a description."""
    if isinstance(description, Mapping):
        for key in (OBJECT, IMPORT):
            if isinstance(name := description.get(key), str):
                yield name
        for item in description.values():
            yield from references(item)
    elif isinstance(description, list | tuple):
        for item in description:
            yield from references(item)


def build(description: Any) -> Any:
    """The described object. Its references are imported and called."""
    if isinstance(description, list):
        return [build(item) for item in description]
    if not isinstance(description, Mapping):
        return description
    if OBJECT in description:
        return build_object(description[OBJECT], description.get(PARAMETERS) or {})
    if set(description) == {IMPORT}:
        return imported(description[IMPORT])
    if set(description) == {TUPLE}:
        return tuple(build(description[TUPLE]))
    return {key: build(item) for key, item in description.items()}


def build_object(reference: str, parameters: Mapping[str, Any]) -> Any:
    """An object of a class, or the result of a function, with these parameters.

    Names with `__` are parameters of parts of the object, as in scikit-learn's `set_params`.
    """
    target = imported(reference)
    if not callable(target):
        raise UserError(f"{reference} is not a class or function: {REFERENCE_RULE}")
    values = {name: build(value) for name, value in parameters.items()}
    arguments = {
        name: value for name, value in values.items() if isinstance(target, type) and "__" not in name
    }
    try:
        made = target(**arguments)
    except Exception as error:
        raise UserError(f"{reference} can't be built: {describe(error)}") from error
    rest = {name: value for name, value in values.items() if name not in arguments}
    return with_parameters(made, rest, reference) if rest else made


def with_parameters(made: Any, values: Mapping[str, Any], reference: str) -> Any:
    """`made.set_params(**values)`. The error for an unknown name contains the most similar known one."""
    try:
        return made.set_params(**values)
    except Exception as error:
        known = made.get_params(deep=True) if hasattr(made, "get_params") else {}
        unknown = next((name for name in values if name not in known), None)
        if unknown is None:
            raise UserError(f"parameters of {reference} are refused: {describe(error)}") from error
        raise UserError(
            f"{reference} has no parameter {unknown!r}{did_you_mean(unknown, known)}: "
            "parameters of a step are called step__name"
        ) from None


def imported(reference: str) -> Any:
    """The class, function or value that a reference names."""
    if not is_reference(reference):
        raise UserError(f"estimator {reference!r}: {REFERENCE_RULE}")
    module, _, name = reference.rpartition(":" if is_python_file(reference) else ".")
    module_object = imported_module(module, f"estimator {reference!r}")
    if not hasattr(module_object, name):
        public = [other for other in vars(module_object) if not other.startswith("_")]
        raise UserError(
            f"{module} has no {name!r}{did_you_mean(name, public)}: name a class or function of it"
        )
    return getattr(module_object, name)


def reference_to(target: Any) -> str:
    """The reference that imports a class or function, by the shortest public path."""
    name, module = getattr(target, "__qualname__", None) or target.__name__, _module_of(target)
    if module is not None and name.isidentifier():
        if module == "__main__" or module.startswith(LOCAL_MODULE):
            if (file := getattr(sys.modules[module], "__file__", None)) is not None:
                return f"{file}:{name}"
        else:
            parts = module.split(".")
            for length in range(1, len(parts) + 1):
                path = ".".join(parts[:length])
                if getattr(sys.modules.get(path), name, None) is target:
                    return f"{path}.{name}"
    raise UserError(
        f"{target!r} can't be imported in another process: define it in a module or script, or write a "
        "function that returns the estimator and name it as file.py:function"
    )


def _module_of(target: Any) -> str | None:
    """The module of a class or function, also for numpy's ufuncs, which have no `__module__`."""
    module: str | None = getattr(target, "__module__", None)
    return "numpy" if module is None and type(target).__module__ == "numpy" else module


def _described_infinity(value: float) -> dict[str, str]:
    if value > 0:
        return {IMPORT: "math.inf"}
    raise UserError("a parameter of the estimator is -inf: write a function that returns the estimator")


def _parameters(value: Any) -> dict[str, Any]:
    """The parameters of an object that differ from the defaults of its class."""
    signature = inspect.signature(type(value)).parameters
    named = {name: parameter for name, parameter in signature.items() if parameter.kind in _NAMED}
    given = value.get_params(deep=False) if hasattr(value, "get_params") else vars(value)
    if (lost := next((name for name in named if name not in given), None)) is not None:
        raise UserError(
            f"{type(value).__name__} does not keep its parameter {lost!r}: write a function that returns the "
            "estimator and name it as file.py:function"
        )
    defaults = {name: parameter.default for name, parameter in named.items()}
    if hasattr(value, "get_params"):  # some accept further parameters as **kwargs, whose default is None
        defaults = {**dict.fromkeys(given), **defaults}
    return {
        name: described(given[name])
        for name, default in defaults.items()
        if not _is_default(given[name], default)
    }


def _is_default(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if isinstance(value, float) and isinstance(default, float) and math.isnan(value) and math.isnan(default):
        return True
    return type(value) is type(default) and type(value) in PLAIN_TYPES and value == default
