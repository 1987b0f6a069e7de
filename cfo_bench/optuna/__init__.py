"""CFO as a sampler of Optuna."""

from __future__ import annotations

from cfo_bench.optuna.sampler import CFOSampler

__all__ = ["CFOSampler"]
