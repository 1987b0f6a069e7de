"""Tasks: where their data comes from, how it is checked, split into folds and made into arrays.

A name or a file becomes a `DataRef` (`resolve`, `select`, `file_ref`). Any process can turn a `DataRef` into
the task's facts (`inspect`) or a fold's arrays (`load_fold`). Data of OpenML and PMLB is fetched first, once
for this machine (`obtain`).

catalogue, selection, task_tables   which tasks there are, by name, pattern, tag or YAML table
sources/                            one source of data a file
fetching, store, shipping           data from a source into this machine's store, or to another machine
data_set, columns, folds, arrays    checked data, split and made into a learner's arrays
dropping, column_remarks            what a user leaves out of a file; columns that look like a mistake
loading, details                    the three together; what `tasks show` prints
cache, known_facts                  arrays and facts kept on disk

Tasks import only the words; `suite/`, `run/`, `engines/` and the command line import tasks. Importing this
package loads nothing heavy: pandas, pyarrow and scikit-learn are imported with the first data.
"""

from __future__ import annotations

from cfo_bench.tasks.catalogue import (
    DATA_SUFFIXES,
    TaskRow,
    file_ref,
    listing,
    resolve,
    resolve_all,
    select,
    tagged,
)
from cfo_bench.tasks.fetching import obtain
from cfo_bench.tasks.loading import facts_if_known, inspect, is_stored, load_fold, official_folds

__all__ = [
    "DATA_SUFFIXES",
    "TaskRow",
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
