"""A trained model in a file of its library's own format, and its description in a JSON file beside it.

`model.ubj` has `model.ubj.json` beside it: the columns with their categories, the class labels, the
configuration, and the provenance. Neither runs code when it is read. A checksum covers everything on which
predictions depend. It is not a signature: it detects a change, but not its author.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from cfo_bench.errors import CfoBenchError, UserError, describe
from cfo_bench.files.writing import read_regular, write_whole
from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, checked, kind_of
from cfo_bench.records import Problem
from cfo_bench.tasks.columns import Column, ColumnKind
from cfo_bench.tasks.data_set import LARGEST, DataSet, target_encoder
from cfo_bench.values import NonNegativeInt

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2  # format 1 had no checksum of the description
ABOUT_SUFFIX = ".json"  # of the file beside the model

# A library that takes longer than this is assumed to hang.
_CHILD_SECONDS = 300


# The kind of a column whose categories are encoded by the target.
TARGET_ENCODED = "target encoded"


class SavedColumn(msgspec.Struct, frozen=True):
    """A feature, with the encoding of its cells."""

    name: str
    kind: str  # a ColumnKind, or TARGET_ENCODED
    categories: list[str] | None = None  # in the order of their codes
    # Of a target-encoded column: the means of the target for each category, for missing and for new
    # categories.
    means: dict[str, list[float]] | None = None
    missing: list[float] | None = None
    other: list[float] | None = None

    def __post_init__(self) -> None:
        if self.kind not in (*ColumnKind, TARGET_ENCODED):
            raise ValueError(f"column {self.name!r} is of kind {self.kind!r}")
        if (self.kind == ColumnKind.CATEGORY) != (self.categories is not None):
            raise ValueError(f"column {self.name!r} is of kind {self.kind}: only a category has categories")
        facts = (self.means, self.missing, self.other)
        if any((self.kind == TARGET_ENCODED) != (fact is not None) for fact in facts):
            raise ValueError(f"column {self.name!r} is of kind {self.kind}: only {TARGET_ENCODED} has means")


class ModelDescription(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the file beside a model on which predictions depend; `checksum` covers it."""

    format: int
    learner: str
    problem: Problem
    target: str
    classes: list[str]
    columns: list[SavedColumn]
    config: dict[str, int | float | str | bool | None]
    learner_options: dict[str, Any]
    seed: NonNegativeInt
    model_sha256: str
    model_facts: dict[str, Any]

    def __post_init__(self) -> None:
        at_least = {Problem.REGRESSION: 0, Problem.BINARY: 2, Problem.MULTICLASS: 3}[self.problem]
        n_classes = len(self.classes)
        if n_classes < at_least or (n_classes != at_least and self.problem is not Problem.MULTICLASS):
            raise ValueError(f"a {self.problem} target does not have {n_classes} classes")

    @property
    def recipe(self) -> ModelRecipe:
        return ModelRecipe(self.learner, self.config, self.problem, self.seed, self.learner_options)


def checksum(about: Mapping[str, Any]) -> str:
    """SHA-256 of the description, as canonical JSON."""
    covered = {name: about.get(name) for name in ModelDescription.__struct_fields__}
    return hashlib.sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest()


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
    """Writes the model and the file beside it, and returns both paths."""
    kind = kind_of(recipe.learner)
    content, facts = kind.content(model, path.suffix), kind.facts(model)
    takes_frame = facts.get("features") == "frame"
    about: dict[str, Any] = {
        "format": FORMAT,
        "learner": recipe.learner,
        "problem": str(recipe.problem),
        "target": data.target,
        "classes": list(data.classes),
        "weight": data.weight.name if data.weight else None,
        "columns": [_column(column, data, takes_frame) for column in data.features],
        "config": dict(recipe.config),
        "learner_options": dict(recipe.options),
        "seed": recipe.seed,
        "model_sha256": hashlib.sha256(content).hexdigest(),
        "model_facts": facts,
    }
    about = {"checksum": checksum(about), **about, "fixed": kind.fixed(recipe), **provenance}
    beside = path.with_name(path.name + ABOUT_SUFFIX)
    try:
        write_whole(path, content)
        write_whole(beside, (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode())
    except OSError as error:
        raise UserError(f"can't write {path}: {error.strerror}; choose another -o") from None
    return [path, beside]


def _column(column: Column, data: DataSet, takes_frame: bool) -> dict[str, Any]:
    """The encoding of a column as JSON. A pipeline receives a frame, and encodes text itself."""
    if column.name in data.target_encoded and not takes_frame:
        # The first code, -1, is that of missing values. New categories have the mean of all rows.
        codes = np.arange(-1, len(column.labels))
        encoder = target_encoder(data.problem).fit(column.values[:, None], data.y)
        missing, *means = encoder.transform(codes[:, None]).tolist()
        means_of = dict(zip(column.labels, means, strict=True))
        other = np.atleast_1d(encoder.target_mean_).tolist()
        facts = {"means": means_of, "missing": missing, "other": other}
        return {"name": column.name, "kind": TARGET_ENCODED, **facts}
    described: dict[str, Any] = {"name": column.name, "kind": column.kind.value}
    return described | ({"categories": list(column.labels)} if column.kind is ColumnKind.CATEGORY else {})


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
    _predict: Callable[[Any], Array] = field(repr=False)

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
        columns = self.about["columns"]
        from cfo_bench.tasks.typed_frames import typed  # loads pandas

        if self.about["model_facts"].get("features") != "frame":
            return self._predict(encoded(frame, columns))
        _check_columns(frame, columns)  # for a pipeline
        return self._predict(typed(frame, columns))


def load_model(path: str | Path, *, trusted: Sequence[str] = ()) -> SavedModel:
    """Load a model that `fit_best` or `cfo-bench best --fit` has saved.

    Parameters
    ----------
    path : str or Path
        The file of the model; the JSON file with its provenance is beside it.
    trusted : sequence of str, default=()
        Types that a `.skops` file may hold besides those that are known to be safe: name only types whose
        code you trust. The name of a `.py` file stands for its types; the file is imported.

    Returns
    -------
    SavedModel
        The model, which predicts for the rows of a pandas frame.

    Raises
    ------
    UserError
        One of its files can't be read, or was changed, or holds a type that is not trusted.
    """
    path = Path(path)
    content, about = _read(path)
    kind = kind_of(about["learner"])
    if kind.is_parsed_natively:
        _check_in_child(path)
    return _loaded(path, content, about, trusted)


def _read(path: Path) -> tuple[bytes, Mapping[str, Any]]:
    """The model and the file beside it, if both are unchanged."""
    beside = path.with_name(path.name + ABOUT_SUFFIX)
    try:
        content, about = read_regular(path), json.loads(read_regular(beside))
        description = msgspec.convert(about, ModelDescription)
    except OSError as error:
        raise UserError(f"can't read {error.filename or path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{beside} does not describe a model ({describe(error)}): fit it again with cfo-bench best --fit"
        ) from None
    if not 1 <= description.format <= FORMAT:
        raise UserError(
            f"{beside} has format {description.format}, this cfo-bench reads up to {FORMAT}: fit it again"
        )
    if description.format == 1:
        warnings.warn(
            f"{beside} is of version 0.2.0, which wrote no checksum of columns, categories and classes: fit "
            "the model again to have them checked",
            stacklevel=3,
        )
    elif about.get("checksum") != checksum(about):
        raise UserError(f"{beside} was changed after the model was saved: fit it again")
    if hashlib.sha256(content).hexdigest() != description.model_sha256:
        raise UserError(f"{path} is not the model that {beside.name} describes: fit it again")
    return content, about


def _loaded(path: Path, content: bytes, about: Mapping[str, Any], trusted: Sequence[str] = ()) -> SavedModel:
    """The model, after a test prediction."""
    description = msgspec.convert(about, ModelDescription)
    try:
        recipe = replace(checked(description.recipe), trusted=tuple(trusted))
        model = SavedModel(about, kind_of(recipe.learner).load(content, about, recipe))
        shape = np.shape(model.predict(_example(description.columns)))
    except CfoBenchError:
        raise
    except Exception as error:  # packages raise many types of errors for damaged files
        raise UserError(f"{path} can't be loaded ({describe(error)}): fit it again") from None
    n_classes = len(description.classes)
    if shape != ((2, n_classes) if description.problem is Problem.MULTICLASS else (2,)):
        raise UserError(f"{path} does not predict what {path.name}{ABOUT_SUFFIX} describes: fit it again")
    return model


def _example(columns: Sequence[SavedColumn]) -> pd.DataFrame:
    """Two rows with a value in each column."""
    import pandas as pd

    values: dict[str, Any] = {}
    for column in columns:
        labels = column.categories if column.means is None else list(column.means)
        if labels is None:
            values[column.name] = "2000-01-01" if column.kind == ColumnKind.DATE else 0.0
        else:
            values[column.name] = next(iter(labels), "")
    return pd.DataFrame([values, values])


# The error bypasses the buffers of Python and of the packages, which may contain other messages.
_CHILD = """
import os, pathlib, sys
from cfo_bench.errors import CfoBenchError
from cfo_bench.models import saving

path = pathlib.Path(sys.argv[1])
try:
    saving._loaded(path, *saving._read(path))
except CfoBenchError as error:
    os.write(1, f"\\n{error}".encode())
    os._exit(1)
"""


def _check_in_child(path: Path) -> None:
    """A UserError if a process that loads the model dies or raises an error.

    Some packages read beyond the end of a damaged file. The result can differ between processes, so a file
    that raised an error in one is not loaded in another.
    """
    try:
        child = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _CHILD, str(path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_CHILD_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{path} can't be loaded in {_CHILD_SECONDS} s: fit it again") from None
    if child.returncode < 0:
        raise UserError(
            f"{path} is damaged: signal {-child.returncode} killed the process that loaded it; fit it again"
        )
    if child.returncode:
        *_, message = child.stdout.decode(errors="replace").splitlines() or [""]
        raise UserError(message or f"{path} can't be loaded: fit it again")


def encoded(frame: pd.DataFrame, columns: Sequence[Mapping[str, Any]]) -> Array:
    """The input matrix of a model: categories as their codes, missing and new ones as NaN.

    A target-encoded category becomes its mean of the target.
    """
    import pandas as pd

    _check_columns(frame, columns)
    blocks = []
    for column in columns:
        cells = frame[column["name"]]
        if column["kind"] == TARGET_ENCODED:
            means, missing, other = column["means"], column["missing"], column["other"]
            rows = [
                missing if pd.isna(cell) else means.get(str(cell), other) for cell in cells.astype(object)
            ]
            blocks.append(np.array(rows, dtype=np.float64).reshape(len(frame), len(other)))
            continue
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
        blocks.append(np.clip(np.where(np.isinf(values), np.nan, values), -LARGEST, LARGEST)[:, None])
    return np.concatenate(blocks, axis=1, dtype=np.float32, casting="unsafe")


def _check_columns(frame: pd.DataFrame, columns: Sequence[Mapping[str, Any]]) -> None:
    missing = [column["name"] for column in columns if column["name"] not in frame.columns]
    if missing:
        raise UserError(f"the rows have no column {', '.join(map(repr, missing))}, which the model needs")
