"""OpenML, through its client. Files are added to the user's cache of the client, but never changed.

If the client's `get_task` fails, it deletes folders of its cache, and the client writes pickles beside the
files. Therefore the client works on a scratch copy of the cache, and new complete files are copied back.
Tables are read by our own readers, because the client converts some labels to booleans, and drops empty rows
or columns at the end of a sparse table.
"""

from __future__ import annotations

import hashlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import openml
import pandas as pd
import requests

from cfo_bench.errors import DataError
from cfo_bench.metrics import Array
from cfo_bench.records import Problem
from cfo_bench.tasks.columns import Column, ColumnKind, categories
from cfo_bench.tasks.sources.caches import OpenMLHome, bring, data_file, give_back, look_up
from cfo_bench.tasks.sources.files import read_columns
from cfo_bench.tasks.sources.origins import Origin, Unavailable, patient
from cfo_bench.tasks.store import Fetched

TRUE_FALSE = {"true": 1.0, "false": 0.0}


def fetch(origin: Origin, home: OpenMLHome, scratch: Path, offline: bool) -> Fetched:
    """The task or data set. Files that the cache lacks are downloaded, unless `offline`."""
    cached = look_up(home, origin)
    if offline and cached.missing:
        raise Unavailable(f"no {', no '.join(cached.missing)}")
    bring(home, scratch, cached.files)
    with _client(home, scratch):
        if origin.kind == "openml-data":
            return _data(int(origin.key), home, scratch, offline)
        return _task(int(origin.key), home, scratch, offline)


def suite_tasks(suite_id: int, home: OpenMLHome, scratch: Path) -> list[int]:
    with _client(home, scratch):
        suite = openml.study.get_suite(suite_id)
    return [int(task) for task in suite.tasks or ()]


def _task(task_id: int, home: OpenMLHome, scratch: Path, offline: bool) -> Fetched:
    task: Any = openml.tasks.get_task(
        task_id,
        download_splits=False,
        download_data=False,
        download_qualities=False,
        download_features_meta_data=True,
    )
    kind = task.task_type_id
    if kind not in (
        openml.tasks.TaskType.SUPERVISED_CLASSIFICATION,
        openml.tasks.TaskType.SUPERVISED_REGRESSION,
    ):
        raise DataError(
            f"OpenML task {task_id} is {task.task_type}: choose a supervised classification or regression"
        )
    give_back(home, scratch)
    bring(home, scratch, look_up(home, Origin("openml-data", str(task.dataset_id))).files)
    data = _data(task.dataset_id, home, scratch, offline, task.target_name)
    splits = home.folder(scratch) / "tasks" / str(task_id) / "datasplits.arff"
    if not splits.is_file():
        task._download_split(splits)
    fold_of_row, unused = read_splits(splits, len(data.columns[0].values), f"OpenML task {task_id}")
    give_back(home, scratch)
    problem = data.problem
    if kind is openml.tasks.TaskType.SUPERVISED_REGRESSION:
        problem = Problem.REGRESSION
    elif problem is None or problem is Problem.REGRESSION:
        target = next(column for column in data.columns if column.name == task.target_name)
        problem = Problem.BINARY if len(np.unique(target.values)) == 2 else Problem.MULTICLASS
    return Fetched(
        columns=data.columns,
        target=task.target_name,
        problem=problem,
        source=f"OpenML task {task_id} ({data.source.removeprefix('OpenML ')})",
        obtained=data.obtained,
        fold_of_row=fold_of_row,
        folds_unused=unused,
        licence=data.licence,
        md5=data.md5,
    )


def _data(data_id: int, home: OpenMLHome, scratch: Path, offline: bool, target: str | None = None) -> Fetched:
    """The columns of a data set, typed as OpenML declares them, without row numbers and ignored columns."""
    dataset = openml.datasets.get_dataset(
        data_id, download_data=False, download_qualities=False, download_features_meta_data=True
    )
    folder = home.folder(scratch) / "datasets" / str(data_id)
    file = data_file(folder, str(data_id))
    obtained = "the OpenML cache"
    if file is not None and (wrong := _wrong_md5(file, dataset.md5_checksum)):
        if offline:
            raise Unavailable(f"datasets/{data_id}/{file.name} of the cache has the {wrong}")
        file.unlink()  # removes our link, not the file in the cache
        file = None
    if file is None:
        openml.datasets.get_dataset(
            data_id, download_data=True, download_qualities=False, download_features_meta_data=True
        )
        file = data_file(folder, str(data_id))
        assert file is not None  # the client has just downloaded it
        obtained = home.host
        give_back(home, scratch)
    source = f"OpenML data set {data_id}, {dataset.name} version {dataset.version}"
    try:
        columns = read_columns(file)
    except DataError as error:
        raise DataError(str(error).replace(str(file), source)) from None
    declared = {feature.name: feature for feature in dataset.features.values()}
    names = [column.name for column in columns]
    if set(names) != set(declared):
        odd = sorted(set(names) ^ set(declared))[0]
        raise DataError(
            f"{source}: its table and its list of features differ in column {odd!r}: take another"
        )
    target = target or dataset.default_target_attribute
    dropped = {*_names(dataset.row_id_attribute, names), *_names(dataset.ignore_attribute, names)} - {target}
    kept = [_as_declared(column, declared[column.name]) for column in columns if column.name not in dropped]
    return Fetched(
        columns=kept,
        target=target if target in declared else None,
        problem=None,
        source=source,
        obtained=obtained,
        licence=dataset.licence,
        md5=dataset.md5_checksum if file.suffix == ".arff" else None,
    )


def _wrong_md5(file: Path, stated: str | None) -> str | None:
    """The error in the file's MD5, if any. OpenML states the MD5 of ARFF files only."""
    if stated is None or file.suffix != ".arff":
        return None
    with file.open("rb") as opened:
        actual = hashlib.file_digest(opened, "md5").hexdigest()
    return None if actual == stated else f"MD5 {actual} where OpenML states {stated}"


def _names(given: str | Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """Column names: OpenML gives a single name, a list, or several names in one text with commas."""
    texts = [given] if isinstance(given, str) else list(given or ())
    return [name for text in texts for name in ([text] if text in known else text.split(","))]


def _as_declared(column: Column, feature: Any) -> Column:
    """Restores the labels of ARFF, because Parquet files contain some nominal columns as numbers or
    booleans.
    """
    if feature.data_type != "nominal" or column.kind is not ColumnKind.NUMBER:
        return column
    label_of: dict[float, str] = {}
    for label in feature.nominal_values or ():
        try:
            label_of[float(label)] = label
        except ValueError:
            if label.casefold() in TRUE_FALSE:
                label_of[TRUE_FALSE[label.casefold()]] = label
    distinct, codes = np.unique(column.values, return_inverse=True)
    known = distinct[~np.isnan(distinct)]
    labels = [label_of.get(float(value), f"{value:.15g}") for value in known]
    return categories(column.name, np.where(np.isnan(column.values), -1, codes), labels)


def read_splits(path: Path, n_rows: int, where: str) -> tuple[Array | None, str | None]:
    """For each row the fold of the first repeat that holds it out, -1 for none; or the reason for having no
    folds.

    Reading the file here takes a tenth of the time of the client, which makes Python objects of every line.
    """
    header = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            header.append(line.strip())
            if header[-1].lower() == "@data":
                break
    names = [line.split()[1].strip("'\"") for line in header if line.lower().startswith("@attribute")]
    try:
        frame = pd.read_csv(
            path, skiprows=len(header), header=None, names=names, dtype={"type": "category"}, comment="%"
        )
        frame = frame[frame["repeat"] == 0]
        rows, folds = frame["rowid"].to_numpy(np.int64), frame["fold"].to_numpy(np.int64)
        held_out = (frame["type"] == "TEST").to_numpy()
    except (KeyError, ValueError) as error:
        raise DataError(f"{where}: its splits can't be read: {' '.join(str(error).split())}") from None
    if "sample" in names and frame["sample"].nunique() > 1:
        return None, "they are of a learning curve"
    if len(rows) == 0 or rows.min() < 0 or rows.max() >= n_rows:
        raise DataError(
            f"{where}: its splits are not of these {n_rows} rows: the table or the splits are cut off"
        )
    fold_of_row = np.full(n_rows, -1, dtype=np.int64)
    fold_of_row[rows[held_out]] = folds[held_out]
    if not np.array_equal(np.unique(folds), np.arange(folds.max() + 1)) or folds.max() >= n_rows // 2:
        return None, f"they are {len(np.unique(folds))} folds for {n_rows} rows"
    for fold in range(folds.max() + 1):
        here = folds == fold
        trained, tested = rows[here & ~held_out], rows[here & held_out]
        all_once = len(trained) + len(tested) == n_rows == len(np.unique(rows[here]))
        if not all_once or (fold_of_row[tested] != fold).any():
            return None, "they don't hold out each row once at most and train on all others"
    return fold_of_row, None


@contextmanager
def _client(home: OpenMLHome, scratch: Path) -> Iterator[None]:
    """Inside, the client uses the scratch cache, is silent, and raises Unavailable instead of its many
    exceptions.
    """
    before = (
        openml.config._root_cache_directory,
        openml.config.retry_policy,
        openml.config.connection_n_retries,
    )
    openml.config.set_root_cache_directory(scratch)
    openml.config.server = home.server
    openml.config.set_retry_policy("human", 1)  # `fetching.py` decides when to retry
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), patient() as seen:
            warnings.simplefilter("ignore")
            yield
    except (DataError, Unavailable, MemoryError):
        raise
    except Exception as error:
        raise _explained(error, seen.status) from None
    finally:
        logging.disable(level)
        openml.config.set_root_cache_directory(before[0])
        openml.config.set_retry_policy(*before[1:])


def _explained(error: Exception, status: int) -> Unavailable:
    text = " ".join(str(error).split())
    if isinstance(error, openml.exceptions.OpenMLServerException) and error.code is not None:
        return Unavailable(f"it answered {error.message.removesuffix(' - None')!r} (code {error.code})")
    if isinstance(error, openml.exceptions.OpenMLHashException):
        return Unavailable("the file that came has another MD5 than OpenML states", again=True)
    if isinstance(error, requests.exceptions.Timeout):
        return Unavailable("it did not answer in time", again=True)
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return Unavailable("its answer was cut off", again=True)
    if isinstance(error, requests.exceptions.ConnectionError):
        unknown = "resolve" in text or "resolution" in text
        return Unavailable("its address is not known here" if unknown else "no connection", again=not unknown)
    if status >= 400:
        return Unavailable(f"it answered with status {status}", again=status >= 500)
    return Unavailable(f"its answer makes no sense: {type(error).__name__}: {text[:200]}")
