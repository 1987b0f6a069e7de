"""LightGBM's models: `lightgbm.train` in a script, LightGBM's text format in a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cfo_bench.learners.lightgbm import fixed_settings, parameters
from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, constants, literal

_CODE = """
import lightgbm

ROUNDS = {rounds}
{parameters}

def train_model(x, y, is_category, n_classes, weight=None):
    parameters = {{**PARAMETERS, "verbosity": -1}}
    if PROBLEM == "multiclass":
        parameters["num_class"] = n_classes
    categories = [at for at, one in enumerate(is_category) if one]
    data = lightgbm.Dataset(x, y, weight=weight, params=parameters, categorical_feature=categories)
    return lightgbm.train(parameters, data, num_boost_round=ROUNDS)


def predict_model(booster, x):
    return booster.predict(x)
"""


class LightGBMModel:
    suffixes = (".txt",)
    is_parsed_natively = True

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        return fixed_settings(recipe.problem, recipe.seed)

    def code(self, recipe: ModelRecipe) -> str:
        return _CODE.format(
            rounds=literal(recipe.config["n_estimators"]),
            parameters=constants("PARAMETERS", parameters(recipe.config), self.fixed(recipe)),
        )

    def content(self, model: Any, suffix: str) -> bytes:
        return str(model.model_to_string()).encode()

    def facts(self, model: Any) -> dict[str, Any]:
        return {}

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        import lightgbm

        text = content.decode()
        _check_structure(text)
        booster = lightgbm.Booster(model_str=text)
        return lambda x: np.asarray(booster.predict(x))


# LightGBM's parser does not check these facts. It reads beyond the end of a truncated file, which crashes
# some processes and not others: a test in a child process is not enough.

_INNER = (
    *("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"),
    *("internal_value", "internal_weight", "internal_count"),
)
_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")


def _check_structure(text: str) -> None:
    """A ValueError if a part of the file is missing, or a tree could point outside its arrays."""
    head, _, _ = text.partition("\n\n")
    facts = _facts(head)
    sizes, n_outputs = _whole_numbers(facts, "tree_sizes"), facts["num_tree_per_iteration"]
    in_objective = re.search(r"num_class:(\d+)", facts["objective"])
    if {facts["num_class"], in_objective[1] if in_objective else n_outputs} != {n_outputs}:
        raise ValueError("its numbers of classes differ")
    if not sizes or len(sizes) % int(n_outputs):
        raise ValueError("trees are missing")
    data = text.encode()
    start = len(head.encode()) + 2
    for number, size in enumerate(sizes):
        tree = data[start : start + size].decode()
        if not tree.startswith(f"Tree={number}\n") or not tree.endswith("\n\n\n"):
            raise ValueError(f"tree {number} is incomplete")
        _check_tree(_facts(tree), int(facts["max_feature_idx"]) + 1)
        start += size
    rest = data[start:].decode()
    parameters, end, _ = rest.partition("\nparameters:\n")[2].partition("\nend of parameters\n")
    if not rest.startswith("end of trees\n") or not end:
        raise ValueError("it has no end")
    if not all(re.fullmatch(r"\[\w+: .*\]", line) for line in parameters.splitlines() if line):
        raise ValueError("its parameters are damaged")


def _check_tree(facts: Mapping[str, str], n_features: int) -> None:
    n_leaves, n_categorical = int(facts["num_leaves"]), int(facts["num_cat"])
    lengths = {**dict.fromkeys(_INNER, n_leaves - 1), **dict.fromkeys(_LEAVES, n_leaves)}
    if n_leaves == 1:  # only this array is read
        lengths = {"leaf_value": 1}
    if n_leaves < 1 or facts["is_linear"] != "0":
        raise ValueError("a tree is of another kind")
    for name, length in lengths.items():
        if len(facts[name].split()) != length:
            raise ValueError(f"the number of {name} of a tree does not fit its number of leaves")
    if n_leaves == 1:
        return
    for name in ("left_child", "right_child"):  # a child comes after its node; a leaf is negative
        for node, child in enumerate(_whole_numbers(facts, name)):
            if not (node < child < n_leaves - 1 or -n_leaves <= child < 0):
                raise ValueError("a node has a child outside its tree")
    if not all(0 <= feature < n_features for feature in _whole_numbers(facts, "split_feature")):
        raise ValueError("a node splits by a column that the model does not have")
    _check_categories(facts, n_categorical)


def _check_categories(facts: Mapping[str, str], n_categorical: int) -> None:
    kinds, thresholds = _whole_numbers(facts, "decision_type"), facts["threshold"].split()
    of_category = [thresholds[node] for node, kind in enumerate(kinds) if kind & 1]
    if not all(0 <= int(threshold) < n_categorical for threshold in of_category):
        raise ValueError("a node splits by categories that its tree does not have")
    if n_categorical:
        bounds, words = _whole_numbers(facts, "cat_boundaries"), _whole_numbers(facts, "cat_threshold")
        if len(bounds) != n_categorical + 1 or [bounds[0], bounds[-1]] != [0, len(words)]:
            raise ValueError("the categories of a tree are incomplete")
        if bounds != sorted(bounds):
            raise ValueError("the categories of a tree are not in order")


def _facts(lines: str) -> dict[str, str]:
    """The lines of the form `name=value`."""
    return dict(line.split("=", 1) for line in lines.splitlines() if "=" in line)


def _whole_numbers(facts: Mapping[str, str], name: str) -> Sequence[int]:
    return list(map(int, facts[name].split()))
