"""The user's statement of a scenario that cfo-bench does not know: `cfo_bench.json` beside its other files.

    {"categories": ["task", "optimizer"], "numbers": ["epoch", "rate"], "outputs": ["error", "runtime"],
     "instance": "task", "fidelity": "epoch", "seconds": ["runtime"],
     "loss": {"output": "error", "metric": "accuracy", "reading": "loss"}, "cheap": {"rate": "high"}}

`categories` and `numbers` are the inputs of its model in their order, `outputs` what it predicts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cfo_bench.errors import UserError
from cfo_bench.recordings.yahpo_scenarios import SCENARIOS, LossFacts, Reading, ScenarioFacts

STATEMENT = "cfo_bench.json"
_NAMES = ("categories", "numbers", "outputs", "seconds")
_KEYS = {*_NAMES, "instance", "instances", "fidelity", "loss", "cheap", "fixed"}


def facts_of(scenario: Path) -> ScenarioFacts | None:
    """What is known of the scenario in a folder: as its statement says, or as cfo-bench knows it."""
    path = scenario / STATEMENT
    if not path.is_file():
        return SCENARIOS.get(scenario.name)
    return parse(read_json(path, "correct it"), path)


def read_json(path: Path, remedy: str) -> Any:
    """A file of a scenario."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"can't read {path}: {error}; {remedy}") from None


def parse(stated: Any, path: Path) -> ScenarioFacts:
    """The facts of a statement; a UserError names what is wrong with it."""
    try:
        return _parsed(stated)
    except ValueError as error:
        raise UserError(f"{path}: {error}; docs/simulation.md has an example") from None


def _parsed(stated: Any) -> ScenarioFacts:
    if not isinstance(stated, dict):
        raise ValueError("it is no JSON object")
    if unknown := sorted(stated.keys() - _KEYS):
        raise ValueError(f"unknown key {unknown[0]!r}: choose from {', '.join(sorted(_KEYS))}")
    categories, numbers, outputs, seconds = (_names(stated, key) for key in _NAMES)
    instances = _names(stated, "instances", ())
    instance = stated.get("instance")
    if (instance is None) == (not instances):
        raise ValueError("give 'instance', the category that names the instance, or 'instances', their names")
    if instance is not None:
        _one_of(instance, categories, "instance")
    for output in seconds:
        _one_of(output, outputs, "seconds")
    if not seconds:
        raise ValueError("'seconds' names no output, and without seconds the clock stands still")
    return ScenarioFacts(
        categories=categories,
        numbers=numbers,
        outputs=outputs,
        seconds=seconds,
        fidelity=_one_of(stated.get("fidelity"), numbers, "fidelity"),
        loss=_loss(stated.get("loss"), outputs),
        cheap={key: str(value) for key, value in _mapping(stated, "cheap").items()},
        fixed={key: _number(key, value) for key, value in _mapping(stated, "fixed").items()},
        instance=instance,
        instances=instances,
        names_data_sets=False,
    )


def _loss(stated: Any, outputs: tuple[str, ...]) -> LossFacts:
    from cfo_bench.metrics import METRICS  # numpy: only where there is a statement

    if not isinstance(stated, dict) or stated.keys() != {"output", "metric", "reading"}:
        raise ValueError("'loss' has the keys output, metric and reading")
    return LossFacts(
        output=_one_of(stated["output"], outputs, "output of 'loss'"),
        metric=_one_of(stated["metric"], tuple(METRICS), "metric of 'loss'"),
        reading=Reading(_one_of(stated["reading"], tuple(Reading), "reading of 'loss'")),
    )


def _names(stated: Mapping[str, Any], key: str, otherwise: tuple[str, ...] | None = None) -> tuple[str, ...]:
    found = stated.get(key, otherwise)
    if not isinstance(found, list | tuple) or not all(isinstance(name, str) for name in found):
        raise ValueError(f"{key!r} is {found!r}: give a list of names")
    if len(set(found)) != len(found):
        raise ValueError(f"{key!r} has a name twice")
    return tuple(found)


def _one_of(name: Any, known: tuple[str, ...], what: str) -> str:
    if name not in known:
        raise ValueError(f"{what} is {name!r}: choose from {', '.join(known)}")
    return str(name)


def _mapping(stated: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = stated.get(key, {})
    if not isinstance(found, dict):
        raise ValueError(f"{key!r} is {found!r}: give a JSON object")
    return found


def _number(key: str, value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"'fixed' holds {key!r} at {value!r}, which is no number")
    return float(value)
