"""Tasks: the sources of their data, and how it is checked, split into folds and converted to arrays.

A name or a file becomes a `DataRef` (`resolve`, `select`, `file_ref`). Any process can load the facts of the
task (`inspect`) or the arrays of a fold (`load_fold`) from a `DataRef`. Data of OpenML and PMLB is fetched
first, once on each machine (`obtain`).

catalogue, task_tables       the available tasks, by name, pattern, tag or YAML table
sources/                     one source of data per file
fetching, store              data from a source or another machine into this machine's store
columns, data_set, folds     checked data, its folds, and the arrays of a learner
from_pandas, typed_frames    data frames to columns, and columns to data frames
loading, prepared, details   facts and folds of a task, kept in the cache; what `tasks show` prints

Importing this package loads nothing heavy: numpy, pandas, pyarrow and scikit-learn are imported with the
first data.
"""

from __future__ import annotations

from cfo_bench.tasks.catalogue import (
    TaskRow,
    file_ref,
    listing,
    resolve,
    resolve_all,
    select,
    tagged,
)
from cfo_bench.tasks.fetching import obtain
from cfo_bench.tasks.loading import (
    count_own_folds,
    facts_if_known,
    inspect,
    is_stored,
    load_fold,
    official_folds,
)
from cfo_bench.tasks.sources import DATA_FORMATS

__all__ = [
    "DATA_FORMATS",
    "TaskRow",
    "count_own_folds",
    "facts_if_known",
    "file_ref",
    "inspect",
    "is_stored",
    "listing",
    "load_fold",
    "obtain",
    "official_folds",
    "resolve",
    "resolve_all",
    "select",
    "tagged",
]
