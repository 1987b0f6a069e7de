"""Files of models: a change or damage is one line, and never another prediction or a dead interpreter."""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfo_bench.errors import UserError
from cfo_bench.models import ModelRecipe, kind_of, saving
from cfo_bench.models.best import load_model
from cfo_bench.models.catboost_model import CatBoostModel
from cfo_bench.models.lightgbm_model import LightGBMModel
from cfo_bench.models.recipe import on_all_rows, train
from cfo_bench.models.saving import checksum, save
from cfo_bench.records import Problem
from cfo_bench.tasks import file_ref
from cfo_bench.tasks.loading import load_data_set
from tests.models.test_best import CONFIGS, require, table

Change = Callable[[dict[str, Any]], object]


def saved(learner: str, folder: Path, problem: Problem = Problem.MULTICLASS) -> Path:
    require(learner)
    table(problem, folder / "mine.csv")
    data, _ = load_data_set(file_ref(folder / "mine.csv", "y"))
    recipe = ModelRecipe(learner, CONFIGS[learner], problem)
    path = folder / f"model{kind_of(learner).suffixes[0]}"
    save(path, recipe, train(recipe, on_all_rows(data), 1), data, {"found": {"trace": "here"}})
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a model of a learner; trained once."""
    paths: dict[str, Path] = {}

    def path_of(learner: str) -> Path:
        if learner not in paths:
            paths[learner] = saved(learner, tmp_path_factory.mktemp(learner))
        return paths[learner]

    return path_of


def changed(path: Path, folder: Path, change: Change, is_resealed: bool = False) -> Path:
    """A copy of the model whose description was changed, by somebody who can compute checksums or not."""
    about = json.loads(path.with_name(f"{path.name}.json").read_text())
    change(about)
    if is_resealed:
        about["checksum"] = checksum(about)
    copy = folder / path.name
    copy.write_bytes(path.read_bytes())
    copy.with_name(f"{copy.name}.json").write_text(json.dumps(about))
    return copy


def with_content(path: Path, folder: Path, content: bytes) -> Path:
    """A copy of the model with another content, and checksums that fit."""
    digest = hashlib.sha256(content).hexdigest()
    copy = changed(path, folder, lambda about: about.update(model_sha256=digest), is_resealed=True)
    copy.write_bytes(content)
    return copy


CHANGES: dict[str, Change] = {
    "categories": lambda about: about["columns"][1]["categories"].reverse(),
    "columns": lambda about: about["columns"].reverse(),
    "kind": lambda about: about["columns"][0].update(kind="date"),
    "classes": lambda about: about["classes"].reverse(),
    "problem": lambda about: about.update(problem="regression", classes=[]),
    "config": lambda about: about["config"].update(k=1),
    "options": lambda about: about["learner_options"].update(algorithm="brute"),
    "seed": lambda about: about.update(seed=7),
    "facts": lambda about: about["model_facts"]["dense"].reverse(),
    "format": lambda about: about.update(format=3),
    "no checksum": lambda about: about.pop("checksum"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_what_a_prediction_depends_on_is_refused(
    change: str, models: Callable[[str], Path], tmp_path: Path
) -> None:
    path = changed(models("knn"), tmp_path, CHANGES[change])

    with pytest.raises(UserError, match="fit it again") as refusal:
        load_model(path)
    assert "\n" not in str(refusal.value)


def test_the_provenance_may_be_changed(models: Callable[[str], Path], tmp_path: Path) -> None:
    path = changed(models("knn"), tmp_path, lambda about: about.update(note="mine", found={}))

    assert load_model(path).about["note"] == "mine"


SEALED_CHANGES: dict[str, Change] = {
    "no columns": lambda about: about.pop("columns"),
    "a column less": lambda about: about["columns"].pop(),
    "no name": lambda about: about["columns"][0].pop("name"),
    "no categories": lambda about: about["columns"][1].pop("categories"),
    "unknown kind": lambda about: about["columns"][0].update(kind="cell"),
    "text for columns": lambda about: about.update(columns="x"),
    "a class less": lambda about: about["classes"].pop(),
    "no facts": lambda about: about.update(model_facts={}),
    "other facts": lambda about: about["model_facts"]["dense"][0].pop("source"),
    "unknown learner": lambda about: about.update(learner="none"),
    "no learner": lambda about: about.update(learner="synthetic"),
    "text for a number": lambda about: about["config"].update(k="7"),
    "unknown option": lambda about: about["learner_options"].update(other=1),
    "seed below 0": lambda about: about.update(seed=-1),
    "another learner": lambda about: about.update(learner="xgboost"),
}


@pytest.mark.parametrize("change", SEALED_CHANGES)
def test_a_description_that_does_not_fit_its_model_is_one_line(
    change: str, models: Callable[[str], Path], tmp_path: Path
) -> None:
    path = changed(models("knn"), tmp_path, SEALED_CHANGES[change], is_resealed=True)

    with pytest.raises(UserError) as refusal:
        load_model(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "[" * 100_000, '{"format": 2}'])
def test_a_description_that_is_none_is_one_line(
    text: str, models: Callable[[str], Path], tmp_path: Path
) -> None:
    path = changed(models("knn"), tmp_path, lambda about: None)
    path.with_name(f"{path.name}.json").write_text(text)

    with pytest.raises(UserError, match="does not describe a model"):
        load_model(path)


@pytest.mark.parametrize("learner", sorted(CONFIGS))
@pytest.mark.parametrize("share", [0.0, 0.3, 0.98])
def test_a_truncated_model_with_fitting_checksums_is_one_line(
    learner: str, share: float, models: Callable[[str], Path], tmp_path: Path
) -> None:
    whole = models(learner).read_bytes()
    path = with_content(models(learner), tmp_path, whole[: int(share * len(whole))])

    with pytest.raises(UserError, match="fit it again") as refusal:
        load_model(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("learner", ["catboost", "lightgbm", "xgboost"])
def test_a_file_that_another_process_could_not_load_is_not_loaded_here(
    learner: str, models: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = with_content(models(learner), tmp_path, models(learner).read_bytes()[:999])
    monkeypatch.setattr(saving, "_loaded", lambda *arguments: pytest.fail("it was loaded"))

    with pytest.raises(UserError, match=f"{re.escape(str(path))} can't be loaded .*: fit it again$"):
        load_model(path)


@pytest.mark.parametrize("problem", ["binary", "multiclass", "regression"])
def test_what_lightgbm_parses_is_complete(problem: str) -> None:
    require("lightgbm")
    import lightgbm

    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=200), rng.integers(0, 40, 200)])
    y = np.digitize(x[:, 0], [0.0] if problem == "binary" else [-0.5, 0.5])
    parameters = {"objective": problem, "num_class": 3 if problem == "multiclass" else 1, "verbosity": -1}
    booster = lightgbm.train(parameters, lightgbm.Dataset(x, y, categorical_feature=[1]), num_boost_round=2)
    kind, recipe = LightGBMModel(), ModelRecipe("lightgbm", {}, Problem(problem))
    whole = kind.content(booster, ".txt")

    assert np.array_equal(kind.load(whole, {}, recipe)(x), booster.predict(x))
    for size in range(whole.index(b"\nend of parameters\n")):
        with pytest.raises((ValueError, LookupError)):  # never LightGBMError: its parser would crash
            kind.load(whole[:size], {}, recipe)


def test_what_catboost_parses_is_complete(models: Callable[[str], Path], tmp_path: Path) -> None:
    whole = models("catboost").read_bytes()
    kind, recipe = CatBoostModel(), ModelRecipe("catboost", {}, Problem.MULTICLASS)

    truncated = [whole[:size] for size in (*range(0, len(whole), 7), -1)]
    for content in (*truncated, whole + b"0", b"0" + whole):
        with pytest.raises(ValueError, match=r"^its (end|lengths)"):  # CatBoost's parser would crash
            kind.load(content, {}, recipe)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r"left_child=\S+", "left_child=0", "a child outside its tree"),
        (r"split_feature=\S+", "split_feature=9", "a column that the model does not have"),
        (r"leaf_value=\S+", "leaf_value=", "number of leaf_value of a tree does not fit"),
        (r"num_tree_per_iteration=3", "num_tree_per_iteration=9", "numbers of classes differ"),
        (r"tree_sizes=\d+", "tree_sizes=9", "tree 0 is incomplete"),
        (r"tree_sizes=.+", "tree_sizes=", "trees are missing"),
        (r"\[learning_rate: .+\]", "learning_rate", "its parameters are damaged"),
    ],
)
def test_a_lightgbm_file_that_leads_out_of_its_arrays_is_refused(
    old: str, new: str, message: str, models: Callable[[str], Path], tmp_path: Path
) -> None:
    text = models("lightgbm").read_text()
    damaged, n_changes = re.subn(old, lambda match: new.ljust(len(match[0])), text, count=1)  # sizes stay
    path = with_content(models("lightgbm"), tmp_path, damaged.encode())

    assert n_changes == 1
    with pytest.raises(UserError, match=message):
        load_model(path)


def test_a_forest_whose_walk_would_never_end_is_refused(
    models: Callable[[str], Path], tmp_path: Path
) -> None:
    with np.load(models("random-forest")) as file:
        arrays = dict(file)
    node = int(np.flatnonzero(arrays["left"] > 0)[1])
    arrays["left"][node] = 0
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)

    path = with_content(models("random-forest"), tmp_path, content.getvalue())

    with pytest.raises(UserError, match="a node has a child outside its tree"):
        load_model(path)


def test_a_model_of_the_first_format_is_loaded_with_a_warning(
    models: Callable[[str], Path], tmp_path: Path
) -> None:
    def make_old(about: dict[str, Any]) -> None:
        about["format"] = 1
        del about["checksum"]

    frame = pd.read_csv(models("knn").parent / "mine.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = load_model(models("knn")).predict(frame)

    with pytest.warns(UserWarning, match="no checksum of columns, categories and classes"):
        model = load_model(changed(models("knn"), tmp_path, make_old))

    assert np.array_equal(model.predict(frame), expected)
