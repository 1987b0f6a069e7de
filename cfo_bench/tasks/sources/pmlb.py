"""PMLB, through its package: tables of numbers with a column `target`, and no folds of their own."""

from __future__ import annotations

import gzip
import os
import urllib.error
import zlib
from pathlib import Path

import pmlb
import requests
from pmlb import dataset_lists

from cfo_bench.errors import DataError, UnknownNameError
from cfo_bench.records import Problem
from cfo_bench.tasks.columns import from_pandas
from cfo_bench.tasks.sources.caches import cached_pmlb
from cfo_bench.tasks.sources.origins import Origin, Unavailable, patient
from cfo_bench.tasks.store import Fetched

TARGET = "target"


def fetch(origin: Origin, scratch: Path, offline: bool) -> Fetched:
    name = origin.key
    if name not in pmlb.dataset_names:
        raise UnknownNameError("PMLB data set", name, pmlb.dataset_names)
    here = cached_pmlb(name)
    if here is None and offline:
        raise Unavailable(f"no {name}/{name}.tsv.gz")
    if here is not None:
        # The package writes beside the file, so it gets a folder of its own with a link.
        (scratch / name).mkdir(parents=True, exist_ok=True)
        link = scratch / name / here.name
        link.unlink(missing_ok=True)
        link.symlink_to(here)
    try:
        with patient():
            frame = pmlb.fetch_data(name, local_cache_dir=os.fspath(scratch), dropna=False)
    except requests.exceptions.Timeout:
        raise Unavailable("it did not answer in time", again=True) from None
    except (
        requests.exceptions.RequestException,
        urllib.error.URLError,
        OSError,
        EOFError,
        zlib.error,
    ) as error:
        if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
            raise Unavailable("its file is cut off or damaged", again=here is None) from None
        unknown = "resol" in str(error)
        raise Unavailable(
            "its address is not known here" if unknown else "no connection", again=not unknown
        ) from None
    except ValueError as error:
        if "not found" in str(error):  # the package says this for every status but 200
            raise Unavailable("it did not hand out the file", again=True) from None
        raise DataError(f"PMLB {name} can't be read: {' '.join(str(error).split())}") from None
    if TARGET not in frame.columns:
        raise DataError(f"PMLB {name} has no column {TARGET!r}: the file is not PMLB's")
    n_classes = frame[TARGET].nunique()
    is_regression = name in dataset_lists.regression_dataset_names
    return Fetched(
        columns=[from_pandas(str(column), frame[column], str(origin)) for column in frame.columns],
        target=TARGET,
        problem=Problem.REGRESSION
        if is_regression
        else Problem.BINARY
        if n_classes == 2
        else Problem.MULTICLASS,
        source=f"PMLB {name}",
        obtained="PMLB's cache" if here else "PMLB",
    )
