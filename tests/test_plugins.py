"""The public surface for plug-ins: all names in one module, light to import, each with a docstring."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from cfo_bench import plugins, testing

ROOT = Path(__file__).resolve().parents[1]


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("module", [plugins, testing])
def test_every_public_name_has_a_docstring_of_its_own(module: object) -> None:
    for name in module.__all__:  # type: ignore[attr-defined]
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            # A dataclass without a docstring is given its signature for one.
            assert "__doc__" in vars(value) or inspect.isfunction(value), name
            assert value.__doc__ and not value.__doc__.startswith(f"{name}("), name


def test_a_name_that_is_not_there_is_told_as_python_does() -> None:
    with pytest.raises(AttributeError, match=r"module 'cfo_bench\.plugins' has no attribute 'Diec'"):
        plugins.Diec  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'cfo_bench\.testing' has no attribute 'DiceContract'"):
        testing.DiceContract  # noqa: B018


def test_importing_it_loads_nothing_heavier_than_numpy() -> None:
    answer = python(
        "import sys; before = set(sys.modules); import cfo_bench.plugins\n"
        "loaded = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(loaded - sys.stdlib_module_names))"
    )

    light = {"__mp_main__", "cfo_bench", "lazy_loader", "msgspec", "numpy", "orjson", "typing_extensions"}
    assert set(answer.stdout.split()) <= light, answer.stderr


def test_nothing_needs_pytest_but_the_contracts() -> None:
    answer = python(
        "import sys; sys.modules['pytest'] = None\n"
        "import cfo_bench.cli.main, cfo_bench.plugins, cfo_bench.testing.searches\n"
        "from cfo_bench.testing import MethodContract"
    )

    assert answer.stderr.splitlines()[-1] == (
        "cfo_bench.errors.MissingPackageError: cfo_bench.testing needs the package 'pytest', "
        "which is not installed: pip install 'cfo-bench[testing]'"
    )
