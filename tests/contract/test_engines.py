"""Every registered engine keeps the contract that cfo_bench.testing has for everybody's."""

from __future__ import annotations

import pytest

from cfo_bench.engines import ENGINES
from cfo_bench.testing import EngineContract

OPTIONS = {"local": {"jobs": 2}, "dask": {"workers": 1}}


def contract(name: str) -> type[EngineContract]:
    """The checks of one engine; those of an absent extra are skipped."""
    made = type(f"Test_{name}", (EngineContract,), {"engine": name, "options": OPTIONS.get(name, {})})
    missing = ENGINES.row(name).missing
    return pytest.mark.skipif(missing is not None, reason=f"{name} needs {missing}")(made)


globals().update({f"Test_{name}": contract(name) for name in ENGINES.rows()})
