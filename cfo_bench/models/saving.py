"""A trained model in a file of its library's own format, and its description in a JSON file beside it.

`model.ubj` has `model.ubj.json` beside it: the columns with their categories, the class labels, the
configuration, and the provenance. Neither runs code when it is read.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.errors import UserError
from cfo_bench.files.writing import read_regular, write_whole
from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, kind_of
from cfo_bench.records import Problem
from cfo_bench.tasks.columns import ColumnKind
from cfo_bench.tasks.data_set import LARGEST, DataSet

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
ABOUT_SUFFIX = ".json"  # of the file beside the model


def check_suffix(recipe: ModelRecipe, path: Path) -> None:
    suffixes = kind_of(recipe.learner).suffixes
    if path.suffix not in suffixes:
        example = path.with_suffix(suffixes[0]).name
        raise UserError(
            f"-o {path}: models of {recipe.learner} are saved in files that end in {' or '.join(suffixes)}: "
            f"write {example}"
        )


def save(
    path: Path, recipe: ModelRecipe, model: Any, data: DataSet, provenance: Mapping[str, Any]
) -> list[Path]:
    """Writes the model, and the file beside it; returns the paths of both."""
    kind = kind_of(recipe.learner)
    content = kind.content(model, path.suffix)
    about = {
        "format": FORMAT,
        "learner": recipe.learner,
        "problem": str(recipe.problem),
        "target": data.target,
        "classes": list(data.classes),
        "columns": [
            {"name": column.name, "kind": column.kind.value}
            | ({"categories": list(column.labels)} if column.kind is ColumnKind.CATEGORY else {})
            for column in data.features
        ],
        "config": dict(recipe.config),
        "fixed": kind.fixed(recipe),
        "learner_options": dict(recipe.options),
        "seed": recipe.seed,
        "model_sha256": hashlib.sha256(content).hexdigest(),
        **provenance,
        "model_facts": kind.facts(model),
    }
    beside = path.with_name(path.name + ABOUT_SUFFIX)
    try:
        write_whole(path, content)
        write_whole(beside, (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode())
    except OSError as error:
        raise UserError(f"can't write {path}: {error.strerror}; choose another -o") from None
    return [path, beside]


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A model that was read from its file.

    Attributes
    ----------
    about : Mapping
        The content of the JSON file beside it: columns, classes, configuration and provenance.
    classes : list of str
        The labels of the target in the order of the probabilities; empty for regression.
    """

    about: Mapping[str, Any]
    _predict: Callable[[Array], Array] = field(repr=False)

    @property
    def classes(self) -> list[str]:
        return list(self.about["classes"])

    def predict(self, frame: pd.DataFrame) -> Array:
        """Predict for the rows of a frame.

        Parameters
        ----------
        frame : DataFrame
            Rows with the columns that the model was trained on; others are ignored.

        Returns
        -------
        ndarray
            For each row a number, the probability of the second of two classes, or that of each class.

        Raises
        ------
        UserError
            A column is missing.
        """
        return self._predict(encoded(frame, self.about["columns"]))


def load_model(path: str | Path) -> SavedModel:
    """Load a model that `fit_best` or `cfo-bench best --fit` has saved.

    Parameters
    ----------
    path : str or Path
        The file of the model; the JSON file with its provenance is beside it.

    Returns
    -------
    SavedModel
        The model, which predicts for the rows of a pandas frame.

    Raises
    ------
    UserError
        One of its files can't be read, or was changed.
    """
    path = Path(path)
    beside = path.with_name(path.name + ABOUT_SUFFIX)
    try:
        content, about = read_regular(path), json.loads(read_regular(beside))
        recipe = ModelRecipe(
            about["learner"],
            about["config"],
            Problem(about["problem"]),
            about["seed"],
            about["learner_options"],
        )
        recorded = about["model_sha256"]
    except OSError as error:
        raise UserError(f"can't read {error.filename or path}: {error.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise UserError(
            f"{beside} does not describe a model: fit it again with cfo-bench best --fit"
        ) from None
    if hashlib.sha256(content).hexdigest() != recorded:
        raise UserError(f"{path} is not the model that {beside.name} describes: fit it again")
    return SavedModel(about, kind_of(recipe.learner).load(content, about, recipe))


def encoded(frame: pd.DataFrame, columns: list[Mapping[str, Any]]) -> Array:
    """The matrix that a model takes: categories as their codes, missing and new ones as NaN."""
    import pandas as pd

    missing = [column["name"] for column in columns if column["name"] not in frame.columns]
    if missing:
        raise UserError(f"the rows have no column {', '.join(map(repr, missing))}, which the model needs")
    x = np.empty((len(frame), len(columns)), dtype=np.float32)
    for at, column in enumerate(columns):
        cells = frame[column["name"]]
        if column["kind"] == ColumnKind.CATEGORY:
            codes = {label: float(code) for code, label in enumerate(column["categories"])}
            values = np.array(
                [
                    math.nan if pd.isna(cell) else codes.get(str(cell), math.nan)
                    for cell in cells.astype(object)
                ]
            )
        elif column["kind"] == ColumnKind.DATE:
            since = pd.to_datetime(cells, format="ISO8601", utc=True) - pd.Timestamp(0, tz="UTC")
            values = (since / pd.Timedelta(days=1)).to_numpy()
        else:
            values = pd.to_numeric(cells).to_numpy(dtype=np.float64, na_value=np.nan)
        x[:, at] = np.clip(np.where(np.isinf(values), np.nan, values), -LARGEST, LARGEST)
    return x
