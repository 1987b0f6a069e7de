"""Every registered learner keeps the contract that cfo_bench.testing has for everybody's."""

from __future__ import annotations

import pytest

from cfo_bench.learners import LEARNERS
from cfo_bench.space import Config
from cfo_bench.testing import LearnerContract

# Leaves so small that a tree on 40 rows depends on them.
FINE: dict[str, Config] = {"lightgbm": {"min_child_samples": 2}, "xgboost": {"min_child_weight": 1.0}}


def contract(name: str) -> type[LearnerContract]:
    """The checks of one learner; those of an absent extra are skipped."""
    missing = LEARNERS.row(name).missing
    made = type(f"Test_{name}", (LearnerContract,), {"learner": name, "fine": FINE.get(name, {})})
    return pytest.mark.skipif(missing is not None, reason=f"{name} needs {missing}")(made)


RECORDED = ("hpobench-mlp", "hpolib")

globals().update({f"Test_{name}": contract(name) for name in LEARNERS.rows() if name not in RECORDED})
