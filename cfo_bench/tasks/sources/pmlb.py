"""PMLB, through its package: tables of numbers with a column `target`, without official folds."""

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
from cfo_bench.tasks.from_pandas import from_pandas
from cfo_bench.tasks.sources.caches import cached_pmlb
from cfo_bench.tasks.sources.origins import Origin, Unavailable, patient
from cfo_bench.tasks.store import Fetched

TARGET = "target"


def fetch(origin: Origin, scratch: Path, offline: bool) -> Fetched:
    name = origin.key
    if name not in pmlb.dataset_names:
        raise UnknownNameError("PMLB data set", name, pmlb.dataset_names)
    local = cached_pmlb(name)
    if local is None and offline:
        raise Unavailable(f"no {name}/{name}.tsv.gz")
    if local is not None:
        # The package writes beside the file, so it is given a scratch folder with a link to the file.
        (scratch / name).mkdir(parents=True, exist_ok=True)
        link = scratch / name / local.name
        link.unlink(missing_ok=True)
        link.symlink_to(local)
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
            raise Unavailable("its file is cut off or damaged", again=local is None) from None
        unknown = "resol" in str(error)
        raise Unavailable(
            "its address is not known here" if unknown else "no connection", again=not unknown
        ) from None
    except ValueError as error:
        if "not found" in str(error):  # the package reports this for every status except 200
            raise Unavailable("it did not return the file", again=True) from None
        raise DataError(f"PMLB {name} can't be read: {' '.join(str(error).split())}") from None
    if TARGET not in frame.columns:
        raise DataError(f"PMLB {name} has no column {TARGET!r}: the file is not PMLB's")
    problem = Problem.BINARY if frame[TARGET].nunique() == 2 else Problem.MULTICLASS
    if name in dataset_lists.regression_dataset_names:
        problem = Problem.REGRESSION
    return Fetched(
        columns=[from_pandas(str(column), frame[column], str(origin)) for column in frame.columns],
        target=TARGET,
        problem=problem,
        source=f"PMLB {name}",
        obtained="PMLB's cache" if local else "PMLB",
    )
