"""Imported by the process that runs are forked from: what each would have to load or look up again."""

# ruff: noqa: F401
from __future__ import annotations

from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from cfo_bench.tasks import arrays, cache, folds
from cfo_bench.tasks.sources import synthetic

# The plug-ins of all installed packages: 20 ms in an environment with some hundred of them.
for registry in (LEARNERS, METHODS):
    registry.rows()
