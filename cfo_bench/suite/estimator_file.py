"""A user's estimator in YAML: its name, its fixed parameters, and its hyperparameters.

    estimator: sklearn.ensemble.HistGradientBoostingClassifier    # or pipeline.py:make_pipeline
    fixed: {early_stopping: false}
    space:
      max_iter:      {int: [10, 2000], log: true, cost_related: true, start: 10}
      learning_rate: {float: [0.01, 1.0], log: true, start: 0.3}

It is an item of the `learners` of a suite, or a file of its own for `--learner FILE.yaml`. A mistake is
reported with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cfo_bench.errors import UnknownNameError, at_place
from cfo_bench.files import yaml_file
from cfo_bench.learners.estimator import Estimator
from cfo_bench.learners.object_description import REFERENCE, REFERENCE_RULE, is_reference
from cfo_bench.registry import placed
from cfo_bench.space import Categorical, Float, Int, Param, Space
from cfo_bench.values import WHOLE, Flag, Marked, Schema, as_option, is_text, plain_number, whole_number

ESTIMATOR, FIXED, SPACE = "estimator", "fixed", "space"
# The keys of a hyperparameter: one of the types, and the other keys that each type may have.
_INT, _FLOAT, _CATEGORICAL = "int", "float", "categorical"
_OF_NUMBERS = ("log",)
_TYPES = {_INT: _OF_NUMBERS, _FLOAT: _OF_NUMBERS, _CATEGORICAL: ("ordered",)}
_START, _COST_RELATED, _WHEN = "start", "cost_related", "when"
_OF_ALL = (_START, _COST_RELATED, _WHEN)
_FLAG = Flag()


def read(path: str, folder: Path) -> Estimator:
    """The estimator in a file. `path` is relative to `folder`, and so is the path of the returned estimator.

    In the file, the path of the estimator is relative to the file.
    """
    return estimator_of(yaml_file.read(folder / path), Path(path).parent)


def estimator_of(marked: Marked, folder: Path = Path()) -> Estimator:
    """The estimator that a mapping describes; its path is relative to `folder`."""
    keys = marked.value
    if not isinstance(keys, Mapping) or not {ESTIMATOR, SPACE} <= set(keys):
        raise marked.wrong("the estimator", "write a mapping with estimator and space")
    _refuse_other(keys, (ESTIMATOR, FIXED, SPACE))
    reference, fixed, searched = keys[ESTIMATOR], keys.get(FIXED), keys[SPACE]
    if not is_text(reference.value) or not is_reference(reference.value):
        raise reference.wrong(ESTIMATOR, REFERENCE_RULE)
    if fixed is not None and not isinstance(fixed.value, Mapping):
        raise fixed.wrong(FIXED, "write the parameters as name: value")
    if not isinstance(searched.value, Mapping) or not searched.value:
        raise searched.wrong(SPACE, "write hyperparameters, as in max_iter: {int: [10, 2000], start: 10}")
    params = {name: _hyperparameter(name, item) for name, item in searched.value.items()}
    rows = {name: item.value for name, item in searched.value.items()}
    with at_place(searched.place):
        space = Space(list(params.values()))
    start = {}
    for name, row in rows.items():
        with at_place(row[_START].place):
            start[name] = params[name].check(_value(params[name], row[_START].plain()))
    costs = [name for name, row in rows.items() if _flag(row, _COST_RELATED)]
    with at_place(marked.place):
        return Estimator(
            placed(reference.value, folder),
            space,
            start,
            cost_related=costs,
            fixed=None if fixed is None else as_option(fixed.plain()),
        )


def _hyperparameter(name: str, marked: Marked) -> Param:
    row = marked.value
    types = [key for key in _TYPES if isinstance(row, Mapping) and key in row]
    if not isinstance(row, Mapping) or len(types) != 1:
        raise marked.wrong(name, "write one of int: [LOW, HIGH], float: [LOW, HIGH], categorical: [A, B]")
    [kind] = types
    _refuse_other(row, (kind, *_TYPES[kind], *_OF_ALL))
    if _START not in row:
        raise marked.wrong(name, "add start: VALUE, where every method begins; cost-related ones at low cost")
    values = row[kind].items()
    when = as_option(row[_WHEN].plain()) if _WHEN in row else {}
    if kind == _CATEGORICAL:
        if not values:
            raise row[kind].wrong(f"{name}.{kind}", "write a list of choices")
        with at_place(row[kind].place):
            return Categorical(name, as_option(row[kind].plain()), _flag(row, "ordered"), when)
    number: Callable[[object], Any] = whole_number if kind == _INT else plain_number
    bounds = [_signed(number, value.value) for value in values or ()]
    if len(bounds) != 2 or None in bounds:
        what = "whole numbers" if kind == _INT else "numbers"
        raise row[kind].wrong(f"{name}.{kind}", f"write two {what}, as in [LOW, HIGH]")
    with at_place(row[kind].place):
        low, high = bounds
        log = _flag(row, "log")
        return Int(name, low, high, log, when) if kind == _INT else Float(name, low, high, log, when)


def _signed(number: Callable[[object], Any], value: object) -> Any:
    """A number, also from text such as -1e-3, which YAML does not read as a number."""
    if isinstance(value, str) and value.startswith("-"):
        unsigned = number(value[1:])
        return None if unsigned is None else -unsigned
    return number(value)


def _value(param: Param, value: Any) -> Any:
    """The start as a value of the hyperparameter: an integer may be written as 1e3."""
    if isinstance(param, Categorical):
        return as_option(value)
    converted = _signed(whole_number if isinstance(param, Int) else plain_number, value)
    return value if converted is None else converted


def _flag(row: Mapping[str, Marked], key: str) -> bool:
    return key in row and bool(_FLAG.read(key, row[key]))


def _refuse_other(row: Mapping[str, Marked], known: tuple[str, ...]) -> None:
    for key, item in row.items():
        with at_place(item.key_place):
            if key not in known:
                raise UnknownNameError("key", key, known)


def schema() -> Schema:
    """The JSON Schema of the mapping."""
    whole = {"oneOf": [{"type": "integer"}, {"type": "string", "pattern": WHOLE}]}
    number = {"type": ["number", "string"]}
    of_all = {_START: {}, _COST_RELATED: _FLAG.schema(), _WHEN: {"type": "object", "minProperties": 1}}

    def hyperparameter(kind: str, values: Schema) -> Schema:
        return {
            "type": "object",
            "additionalProperties": False,
            "required": [kind, _START],
            "properties": {
                kind: {"type": "array", **values},
                **{key: _FLAG.schema() for key in _TYPES[kind]},
                **of_all,
            },
        }

    two = {"minItems": 2, "maxItems": 2}
    return {
        "description": "An estimator of scikit-learn's kind, such as a pipeline, with its hyperparameters.",
        "type": "object",
        "additionalProperties": False,
        "required": [ESTIMATOR, SPACE],
        "properties": {
            ESTIMATOR: {
                "description": "package.module.Name, or file.py:name relative to this file.",
                "type": "string",
                "pattern": f"^({REFERENCE})$",
            },
            FIXED: {"description": "Further parameters of the estimator.", "type": "object"},
            SPACE: {
                "description": "Hyperparameters by name; step__name is one of a step of a pipeline.",
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {
                    "oneOf": [
                        hyperparameter(_INT, {**two, "items": whole}),
                        hyperparameter(_FLOAT, {**two, "items": number}),
                        hyperparameter(_CATEGORICAL, {"minItems": 1}),
                    ]
                },
            },
        },
    }
