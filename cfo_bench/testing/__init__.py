"""Contract tests for plug-ins: the checks that our own methods, learners, engines and task sources pass.

The author of a plug-in writes one class in a test file of pytest:

    from cfo_bench.testing import MethodContract

    class TestDice(MethodContract):
        method = "dice"  # a registered name, or path/to/file.py:Class

The docstring of each contract lists the attributes that a subclass may set. The contracts are listed in
`__init__.pyi` and loaded at first use, because only they need pytest.
"""

import pkgutil
import sys
from importlib.util import find_spec
from typing import Any

import lazy_loader

from cfo_bench.errors import MissingPackageError, install_command

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("pytest") is None:
        raise MissingPackageError("cfo_bench.testing", "pytest", install_command("testing"))
    import pytest

    # A failed `assert` of a contract shows the compared values, as in a test file.
    modules = (f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__))
    pytest.register_assert_rewrite(*(module for module in modules if module not in sys.modules))
    return _load(name)
