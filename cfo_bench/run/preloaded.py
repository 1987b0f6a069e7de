"""Imported by the fork server, so that no run has to load it: modules, and the plug-ins' registries."""

# ruff: noqa: F401
from __future__ import annotations

from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from cfo_bench.tasks import arrays, cache, folds
from cfo_bench.tasks.sources import synthetic

# This looks for plug-ins in all installed packages: 20 ms where there are some hundred packages.
for registry in (LEARNERS, METHODS):
    registry.rows()
