"""Tasks: where their data comes from, how it is checked, split into folds and made into arrays.

A name or a file becomes a `DataRef` (`resolve`, `select`, `file_ref`), which any process can turn into facts
(`inspect`) or into a fold's arrays (`load_fold`); what comes from OpenML or PMLB is fetched first
(`obtain`), once for this machine. Importing this package loads nothing heavy:
pandas, pyarrow and scikit-learn come in with the first data.
"""

from __future__ import annotations

from cfo_bench.tasks.catalogue import TaskRow, file_ref, listing, resolve, resolve_all
from cfo_bench.tasks.fetching import obtain
from cfo_bench.tasks.loading import inspect, is_stored, load_fold, official_folds
from cfo_bench.tasks.selection import select, tagged

__all__ = [
    "TaskRow",
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
