"""The file of surrogates: a numpy .npz file with the arrays of all models and a JSON text.

It contains no code. It is a zip archive of uncompressed members, so reading it needs no more memory than its
size. Every value is checked before it is used. The same traces give the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import orjson

from cfo_bench.errors import SpaceError, UnknownNameError, UserError, brief_line
from cfo_bench.files.writing import open_regular, write_whole
from cfo_bench.metrics import METRICS, Array
from cfo_bench.recordings.surrogate import Cover, Scatter, Surrogate, Trees, problem_with
from cfo_bench.records import Problem
from cfo_bench.space import Space
from cfo_bench.values import MOST_INT

FORMAT, VERSION = "cfo-bench surrogate", 1
# `surrogate fit` makes no larger file than these.
MOST_BYTES = 1 << 30
MOST_MEMBERS = 200_000
MOST_TEXT_BYTES = 64 << 20

_JSON_MEMBER = "surrogate.json"
_DTYPES = ("<i4", "<f4", "<f8")


@dataclass(frozen=True, slots=True, eq=False)
class SurrogateFile:
    """The surrogates of a file, each of one learner on one task."""

    surrogates: Sequence[Surrogate]
    traces: int  # the number of traces to which they were fitted
    traces_sha256: str
    made_by: str  # the version of cfo-bench
    sha256: str = ""  # of the file; empty before it is written
    path: str = ""

    @property
    def learners(self) -> list[str]:
        return sorted({surrogate.learner for surrogate in self.surrogates})

    def tasks(self, learner: str) -> list[str]:
        return [surrogate.task for surrogate in self.surrogates if surrogate.learner == learner]

    def of(self, learner: str, task: str) -> Surrogate:
        """The surrogate of a learner on a task; an UnknownNameError lists the available ones."""
        if learner not in self.learners:
            raise UnknownNameError(f"learner of the surrogate {self.path}", learner, self.learners)
        for surrogate in self.surrogates:
            if surrogate.learner == learner and surrogate.task == task:
                return surrogate
        raise UnknownNameError(f"task of the surrogate {self.path}", task, self.tasks(learner))


def write(path: Path, content: SurrogateFile) -> str:
    """Write the file; returns its SHA-256."""
    data = to_bytes(content)
    try:
        write_whole(path, data, sync=True)
    except OSError as error:
        raise UserError(f"can't write {path}: {error.strerror}; choose another -o") from None
    return hashlib.sha256(data).hexdigest()


def to_bytes(content: SurrogateFile) -> bytes:
    text = {
        "format": FORMAT,
        "version": VERSION,
        "cfo_bench": content.made_by,
        "traces": content.traces,
        "traces_sha256": content.traces_sha256,
        "surrogates": [to_row(surrogate) for surrogate in content.surrogates],
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_member(_JSON_MEMBER), orjson.dumps(text))
        for number, surrogate in enumerate(content.surrogates):
            for name, array in to_arrays(surrogate).items():
                member = io.BytesIO()
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
                archive.writestr(_member(f"{number}/{name}.npy"), member.getvalue())
    return out.getvalue()


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))  # a fixed time: the same bytes again


def read(path: str | Path) -> SurrogateFile:
    """The surrogates in a file; a UserError reports in one line why it can't be used."""
    try:
        with open_regular(path) as file:
            facts = os.fstat(file.fileno())
            if facts.st_size > MOST_BYTES:
                _refuse(path, f"it has {facts.st_size} bytes, and {MOST_BYTES} are the most")
            return _read(os.path.realpath(path), (facts.st_mtime_ns, facts.st_size, facts.st_ino))
    except OSError as error:
        raise UserError(
            f"can't read {str(path)!r}: {error.strerror}; name a file of cfo-bench surrogate fit"
        ) from None


# Many runs of a command, and each listing of its tasks, read the same file.
@lru_cache(maxsize=2)
def _read(path: str, _stamp: tuple[int, int, int]) -> SurrogateFile:
    with open_regular(path) as file:
        data = file.read(MOST_BYTES + 1)
    try:
        return from_bytes(data, path)
    except UserError:
        raise
    except Exception as error:  # zipfile, orjson and numpy raise many types of errors for damaged files
        _refuse(path, f"{type(error).__name__}: {error}")


def from_bytes(data: bytes, path: str = "the file") -> SurrogateFile:
    """The surrogates. An exception of any kind if the file is damaged: `read` turns it into a UserError."""
    members = _members(data, path)
    text = orjson.loads(members.pop(_JSON_MEMBER))
    if text["format"] != FORMAT:
        _refuse(path, "it has another format")
    if text["version"] != VERSION:
        raise UserError(
            f"{path} has version {brief_line(repr(text['version']), 40)} of the format, and this cfo-bench "
            f"reads {VERSION}: fit it again, or use the version of cfo-bench that made it"
        )
    arrays: dict[str, dict[str, Array]] = {}
    for name, content in members.items():
        number, _, array = name.removesuffix(".npy").partition("/")
        arrays.setdefault(number, {})[array] = _array(content)
    return SurrogateFile(
        surrogates=[from_parts(row, arrays[str(i)]) for i, row in enumerate(text["surrogates"])],
        traces=_count(text["traces"]),
        traces_sha256=_text(text["traces_sha256"]),
        made_by=_text(text["cfo_bench"]),
        sha256=hashlib.sha256(data).hexdigest(),
        path=path,
    )


def _refuse(path: object, why: str) -> NoReturn:
    raise UserError(
        f"{path} is not a usable surrogate ({brief_line(why, 200)}): make one with cfo-bench surrogate fit"
    )


def _members(data: bytes, path: object) -> dict[str, bytes]:
    """The members of the archive. Together they are no larger than the file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        if len(infos) > MOST_MEMBERS:
            _refuse(path, f"it has {len(infos)} parts, and {MOST_MEMBERS} are the most")
        if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
            _refuse(path, "a part of it is compressed")
        if sum(info.file_size for info in infos) > len(data):
            _refuse(path, "its parts overlap")
        if archive.getinfo(_JSON_MEMBER).file_size > MOST_TEXT_BYTES:
            _refuse(path, "its text is too long")
        return {info.filename: archive.read(info) for info in infos}


def _array(content: bytes) -> Array:
    """An array in numpy's format. Its header must match the length of the content."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an array has another version of numpy's format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    rest = content[file.tell() :]
    if dtype.str not in _DTYPES or len(shape) > 2 or (fortran and len(shape) > 1):
        raise ValueError("an array has a type that surrogates don't use")
    if math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError("the length of an array does not match its header")
    return np.frombuffer(rest, dtype=dtype).reshape(shape)


# --- one surrogate ---------------------------------------------------------------------------------
# A surrogate as a row of JSON and named arrays, and back. Every value of a file is checked: the file may be
# damaged, or made by somebody else.

MOST_FOLDS = 10_000

_MODELS = ("loss", "log_seconds", "failure")
_NODES = ("roots", "feature", "threshold", "child", "value")
_SCATTERS = ("loss_scatter", "seconds_scatter")
_CURVE = ("at", "spread", "quantiles")
_NUMBERS = (
    *("constant_loss", "best", "scale", "least_y", "most_y", "least_seconds", "longest_seconds"),
    *("offset_spread", "validate_share", "failed_share"),
)
_COUNTS = ("n_rows", "n_features", "n_classes", "n_folds", "train_rows")


def to_row(surrogate: Surrogate) -> dict[str, Any]:
    """The part of a surrogate that is JSON."""
    models = {name: getattr(surrogate, name) for name in _MODELS}
    return {
        "learner": surrogate.learner,
        "task": surrogate.task,
        "space": surrogate.space.to_json(),
        "start": surrogate.start,
        "cost_related": list(surrogate.cost_related),
        "learner_options": dict(surrogate.learner_options),
        "problem": surrogate.problem,
        "metric": surrogate.metric,
        "data_sha256": surrogate.data_sha256,
        "trains_on_parts": surrogate.trains_on_parts,
        **{name: getattr(surrogate, name) for name in (*_COUNTS, *_NUMBERS)},
        "offsets": [[seed, fold, offset] for (seed, fold), offset in sorted(surrogate.offsets.items())],
        "models": {
            name: None if trees is None else {"intercept": trees.intercept, "depth": trees.depth}
            for name, trees in models.items()
        },
        "radius": surrogate.cover.radius,
        "quality": surrogate.quality,
    }


def to_arrays(surrogate: Surrogate) -> dict[str, Array]:
    """The models, scatters and recorded configurations, by names such as `loss/feature`."""
    models = {name: getattr(surrogate, name) for name in _MODELS}
    return {
        **{
            f"{model}/{name}": getattr(trees, name)
            for model, trees in models.items()
            if trees is not None
            for name in _NODES
        },
        **{
            f"{scatter}/{name}": getattr(getattr(surrogate, scatter), name)
            for scatter in _SCATTERS
            for name in _CURVE
        },
        "cover/vectors": surrogate.cover.vectors,
        "cover/weights": surrogate.cover.weights,
    }


def from_parts(row: Mapping[str, Any], arrays: Mapping[str, Array]) -> Surrogate:
    """The inverse of `to_row` and `to_arrays`; a wrong value raises a ValueError, LookupError or
    TypeError.
    """
    try:
        space = Space.from_json(row["space"])
        start = space.check(row["start"])
    except SpaceError as error:
        raise ValueError(str(error)) from None
    if not len(space) or row["metric"] not in METRICS:
        raise ValueError("a surrogate has no hyperparameters, or an unknown metric")
    numbers = {name: _finite(row[name]) for name in _NUMBERS}
    counts = {name: _count(row[name]) for name in _COUNTS}
    _check_ranges(numbers, counts)
    scatters = {name: _scatter(arrays, name) for name in _SCATTERS}
    cover = Cover(arrays["cover/vectors"], arrays["cover/weights"], _finite(row["radius"]))
    surrogate = Surrogate(
        learner=_text(row["learner"]),
        task=_text(row["task"]),
        space=space,
        start=start,
        cost_related=tuple(map(_text, row["cost_related"])),
        learner_options=dict(row["learner_options"]),
        problem=Problem(row["problem"]),
        metric=row["metric"],
        data_sha256=_text(row["data_sha256"]),
        trains_on_parts=bool(row["trains_on_parts"]),
        offsets={(_count(seed), _count(fold)): _finite(offset) for seed, fold, offset in row["offsets"]},
        cover=cover,
        quality=dict(row["quality"]),
        **{name: _trees(row["models"][name], name, arrays) for name in _MODELS},  # type: ignore[arg-type]
        **scatters,  # type: ignore[arg-type]
        **counts,  # type: ignore[arg-type]
        **numbers,  # type: ignore[arg-type]
    )
    n_features = len(surrogate.encoding)
    if surrogate.loss is None or surrogate.log_seconds is None:
        raise ValueError("a surrogate has no model of loss or of seconds")
    for trees in (surrogate.loss, surrogate.log_seconds, surrogate.failure):
        if trees is not None and (why := problem_with(trees, n_features)):
            raise ValueError(why)
    if cover.vectors.ndim != 2 or cover.vectors.shape[1:] != (n_features,) or not len(cover.vectors):
        raise ValueError("the recorded configurations have another length than the space")
    if cover.weights.shape != (n_features,) or not np.all(cover.weights >= 0):
        raise ValueError("the weights of the hyperparameters are out of range")
    return surrogate


def _check_ranges(numbers: Mapping[str, float], counts: Mapping[str, int]) -> None:
    if not numbers["scale"] > 0 or not -700 < numbers["least_y"] <= numbers["most_y"] < 700:
        raise ValueError("the range of losses makes no sense")
    if not 0 < numbers["least_seconds"] <= numbers["longest_seconds"]:
        raise ValueError("the range of seconds makes no sense")
    if not 0 <= numbers["validate_share"] < 1 or not 0 < numbers["failed_share"] <= 1:
        raise ValueError("a share of the seconds is out of range")
    if numbers["offset_spread"] < 0 or not counts["train_rows"] or not 0 < counts["n_folds"] <= MOST_FOLDS:
        raise ValueError("rows or folds are out of range")


def _trees(row: Mapping[str, Any] | None, model: str, arrays: Mapping[str, Array]) -> Trees | None:
    if row is None:
        return None
    parts = {name: arrays[f"{model}/{name}"] for name in _NODES}
    whole = ("roots", "feature", "child")
    if any(part.ndim != 1 or (name in whole) != (part.dtype.kind == "i") for name, part in parts.items()):
        raise ValueError("an array of a tree has the wrong type")
    return Trees(_finite(row["intercept"]), _count(row["depth"]), **parts)


def _scatter(arrays: Mapping[str, Array], model: str) -> Scatter:
    at, spread, quantiles = (arrays[f"{model}/{name}"] for name in _CURVE)
    if not all(part.ndim == 1 and np.all(np.isfinite(part)) for part in (at, spread)):
        raise ValueError("a scatter has a value that is not a number")
    if not len(at) or len(at) != len(spread) or np.any(spread < 0):
        raise ValueError("a scatter has no spread")
    if np.any(np.diff(at) <= 0) or len(quantiles) < 2 or np.any(np.diff(quantiles) < 0):
        raise ValueError("a scatter is not in order")
    if quantiles.ndim != 1 or not np.all(np.isfinite(quantiles)):
        raise ValueError("a scatter has a quantile that is not a number")
    return Scatter(at, spread, quantiles)


def _finite(value: object) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)  # type: ignore[arg-type]


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value <= MOST_INT:
        raise ValueError(f"{value!r} is not a whole number from 0 on")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or len(value) > 1000:
        raise ValueError("a name is not text")
    return value
