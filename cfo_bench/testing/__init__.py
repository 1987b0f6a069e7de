"""The checks that our own methods, learners, engines and task sources pass, for those of other people.

A plug-in's author writes one class in a file of pytest's:

    from cfo_bench.testing import MethodContract

    class TestDice(MethodContract):
        method = "dice"  # a registered name, or path/to/file.py:Class

The docstring of each contract names the other attributes that a subclass may set. pytest must be installed;
nothing else in cfo-bench needs it.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cfo_bench.errors import MissingPackageError

if TYPE_CHECKING:
    from cfo_bench.testing.engines import EngineContract
    from cfo_bench.testing.learners import LearnerContract, RecordedLearnerContract
    from cfo_bench.testing.methods import MethodContract
    from cfo_bench.testing.task_sources import TaskSourceContract

__all__ = [
    "EngineContract",
    "LearnerContract",
    "MethodContract",
    "RecordedLearnerContract",
    "TaskSourceContract",
]

# Loaded at first use: the processes that a check starts need no pytest.
_HOME = {
    "EngineContract": "cfo_bench.testing.engines",
    "LearnerContract": "cfo_bench.testing.learners",
    "MethodContract": "cfo_bench.testing.methods",
    "RecordedLearnerContract": "cfo_bench.testing.learners",
    "TaskSourceContract": "cfo_bench.testing.task_sources",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'cfo_bench.testing' has no attribute {name!r}")
    if find_spec("pytest") is None:
        raise MissingPackageError("cfo_bench.testing", "pytest", "pip install 'cfo-bench[testing]'")
    import pytest

    if _HOME[name] not in sys.modules:
        # A failed `assert` of the contract shows the values that it compared, as one in a test file does.
        pytest.register_assert_rewrite(_HOME[name])
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value
