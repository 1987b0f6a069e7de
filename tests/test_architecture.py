"""Who may import whom: the rooms are the folders of the package, read from the source of every module.

The modules at the top of the package are the words that everybody speaks: they import each other, and every
room may import them. Three of them are doors, by which people come in: they may import rooms.
"""

from __future__ import annotations

import ast
import graphlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "cfo_bench"
WORDS, DOORS = "the words", "the doors"
MOST_WORDS = 12

# The doors, at the top of the package: the public names, the plug-ins' names, and `minimize`.
DOOR_MODULES = {PACKAGE, f"{PACKAGE}.plugins", f"{PACKAGE}.minimization"}

# Which rooms a room may import besides itself and the words.
MAY_IMPORT = {
    "files": "",
    "machine": "files",
    "optimizers": "",
    "recordings": "files",
    "learners": "recordings",
    "tasks": "files recordings",
    "suite": "optimizers learners tasks recordings files",
    "results": "files",
    "surrogates": "recordings results files",
    "exchange": "results files",
    "run": "optimizers learners tasks recordings results machine files",
    "engines": "tasks suite results recordings machine run files",
    "report": "results files machine learners",
    "models": "learners tasks results report machine files",
    "comparison": "optimizers learners suite results machine files run engines report models",
    "optuna": "optimizers",
    "testing": "optimizers learners tasks results machine run engines",
}
# What people type and see may import every room below it.
COMMAND_LINE = ("terminal", "cli")

# What the words may load besides the standard library.
LIGHT = {"msgspec", "numpy", "yaml"}

# What `cfo-bench --help` must not wait for.
HEAVY = ["matplotlib", "numpy", "pandas", "polars", "pyarrow", "rich", "scipy", "sklearn", "torch", "xgboost"]

# What prints on the terminal.
PRINTING = {"print", "click.echo", "click.secho", "sys.stdout.write"}

# Ways to a generator that somebody seeded; everything else in numpy.random draws from the global one.
SEEDED = {"BitGenerator", "Generator", "PCG64", "Philox", "RandomState", "SeedSequence", "default_rng"}
# Keeping a package's draws from the global generator to itself draws nothing.
SEEDED |= {"get_state", "set_state"}


# --- reading the source -----------------------------------------------------------------------


@dataclass(frozen=True)
class Import:
    """One import statement: `module` with the `name` taken from it (None for a plain `import`)."""

    module: str
    name: str | None
    line: int
    only_for_types: bool


def imports(tree: ast.AST, only_for_types: bool = False) -> Iterator[Import]:
    """Every import of a module, in functions and `if TYPE_CHECKING:` blocks too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, None, node.lineno, only_for_types)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield Import("." * node.level + (node.module or ""), alias.name, node.lineno, only_for_types)
        else:
            types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            yield from imports(node, only_for_types or types)


def imported_module(found: Import, modules: set[str]) -> str | None:
    """The module of ours that an import reaches; None for other people's, and for the version number."""
    if found.module.split(".")[0] != PACKAGE or (found.module, found.name) == (PACKAGE, "__version__"):
        return None
    whole = f"{found.module}.{found.name}"
    return whole if whole in modules else found.module


@cache
def reached(module: str) -> frozenset[str]:
    """The modules of ours that a module imports, those that only type checkers see among them."""
    modules = set(sources())
    found = {imported_module(one, modules) for one in imports(sources()[module])}
    return frozenset(name for name in found if name is not None)


@cache
def room_of(module: str) -> str:
    parts = module.split(".")
    if module in DOOR_MODULES:
        return DOORS
    if module == f"{PACKAGE}.__main__":  # where the command line starts
        return "cli"
    return parts[1] if len(parts) > 2 or (ROOT / Path(*parts)).is_dir() else WORDS


def may_import(here: str, there: str) -> bool:
    if here in (there, "cli") or there == WORDS:
        return True
    if here in (DOORS, "terminal"):
        return there not in COMMAND_LINE
    return there in MAY_IMPORT.get(here, "").split()


def time_readings(tree: ast.AST) -> Iterator[str]:
    for found in imports(tree):
        if found.module in {"time", "timeit"}:
            yield f"line {found.line}: imports {found.module}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node).split(".")[-2:] in (
            ["datetime", "now"],
            ["datetime", "utcnow"],
            ["datetime", "today"],
            ["date", "today"],
        ):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def global_random_draws(tree: ast.AST) -> Iterator[str]:
    for found in imports(tree):
        if found.module == "random" or (found.module == "numpy.random" and found.name not in SEEDED):
            yield f"line {found.line}: imports {found.name or found.module} from {found.module}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            if owner in {"np.random", "numpy.random"} and node.attr not in SEEDED:
                yield f"line {node.lineno}: {owner}.{node.attr}"
        elif isinstance(node, ast.Call) and ast.unparse(node).endswith("default_rng()"):
            yield f"line {node.lineno}: default_rng() without a seed"


def printing(tree: ast.AST) -> Iterator[str]:
    """Calls that write to the terminal."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in PRINTING:
            yield f"line {node.lineno}: {ast.unparse(node.func)}"


@cache
def sources() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name."""
    trees = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        trees[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return trees


# --- the rules --------------------------------------------------------------------------------


def test_every_folder_has_its_line_in_the_table() -> None:
    folders = {
        path.name
        for path in (ROOT / PACKAGE).iterdir()
        if path.is_dir() and any(path.rglob("*.py")) and path.name not in COMMAND_LINE
    }

    assert folders == set(MAY_IMPORT)


def test_imports_point_down_only() -> None:
    wrong = [
        f"{module} may not import {target}: {room_of(module)} is not above {room_of(target)}"
        for module in sources()
        for target in sorted(reached(module))
        if not may_import(room_of(module), room_of(target))
    ]

    assert not wrong, "\n".join(wrong)


def test_few_modules_are_at_the_top() -> None:
    found = sorted(path.name for path in (ROOT / PACKAGE).glob("*.py"))

    assert len(found) <= MOST_WORDS, f"{found}: a new module goes into a room"


def test_no_two_modules_have_one_name() -> None:
    """A command is called like the thing that it runs: the modules of the command line are left out."""
    counts = Counter(
        path.stem
        for path in (ROOT / PACKAGE).rglob("*.py")
        if not path.stem.startswith("__") and path.parent.name != "cli"
    )

    assert {name for name, count in counts.items() if count > 1} == set()


def test_words_doors_and_rooms_are_told_apart() -> None:
    rooms = {module: room_of(module) for module in sources()}

    assert rooms[f"{PACKAGE}.records"] == rooms[f"{PACKAGE}.space"] == WORDS
    assert rooms[f"{PACKAGE}.minimization"] == rooms[PACKAGE] == DOORS
    assert rooms[f"{PACKAGE}.tasks.sources.files"] == "tasks"


def test_the_table_of_rooms_has_no_circle() -> None:
    graphlib.TopologicalSorter({room: below.split() for room, below in MAY_IMPORT.items()}).prepare()


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("optimizers", "tasks"),
        ("results", "run"),
        ("run", "engines"),
        ("run", "suite"),
        ("suite", "run"),
        ("engines", DOORS),
        (DOORS, "cli"),
        (DOORS, "terminal"),
        ("terminal", "cli"),
        (WORDS, "results"),
    ],
)
def test_an_import_that_points_up_is_seen(here: str, there: str) -> None:
    assert not may_import(here, there)


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = set(sources())
    graph = {
        module: {
            target
            for found in imports(tree)
            if not found.only_for_types and (target := imported_module(found, modules))
        }
        - {module}
        for module, tree in sources().items()
    }

    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_imports_are_absolute() -> None:
    relative = [
        f"{module}, line {found.line}: {found.module}"
        for module, tree in sources().items()
        for found in imports(tree)
        if found.module.startswith(".")
    ]

    assert not relative, "\n".join(relative)


def test_the_words_load_little() -> None:
    light = sys.stdlib_module_names | {PACKAGE} | LIGHT
    heavy = [
        f"{module}, line {found.line}: {found.module}"
        for module, tree in sources().items()
        if room_of(module) == WORDS
        for found in imports(tree)
        if found.module.split(".")[0] not in light
    ]

    assert not heavy, "\n".join(heavy)


def test_only_the_clock_reads_the_time() -> None:
    readings = [
        f"{module}, {reading}"
        for module, tree in sources().items()
        if module != f"{PACKAGE}.clock"
        for reading in time_readings(tree)
    ]

    assert not readings, "\n".join(readings)


def test_only_one_module_prints() -> None:
    """It escapes what would move the cursor: names and errors may be from anybody's files."""
    calls = [
        f"{module}, {call}"
        for module, tree in sources().items()
        # The runs of the contract tests print their answer for another process.
        if module != f"{PACKAGE}.terminal.printing" and room_of(module) != "testing"
        for call in printing(tree)
    ]

    assert not calls, "\n".join(calls)


def test_nothing_draws_from_a_global_random_generator() -> None:
    draws = [f"{module}, {draw}" for module, tree in sources().items() for draw in global_random_draws(tree)]

    assert not draws, "\n".join(draws)


# --- the rules are worth something: each sees what it is there to see --------------------------


def test_imports_are_seen_in_functions_and_under_type_checking() -> None:
    tree = ast.parse(
        "from cfo_bench.results import trace\nfrom cfo_bench import __version__\n"
        "if TYPE_CHECKING:\n    import cfo_bench.cli.main\n"
        "def f():\n    from cfo_bench.space import Int\n"
    )

    found = list(imports(tree))

    modules = {"cfo_bench.results.trace", "cfo_bench.space", "cfo_bench.cli.main"}
    reached = [imported_module(one, modules) for one in found]
    assert reached == ["cfo_bench.results.trace", None, "cfo_bench.cli.main", "cfo_bench.space"]
    assert [one.only_for_types for one in found] == [False, False, True, False]


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "def f():\n    from time import perf_counter",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import date\ndate.today()",
    ],
)
def test_a_reading_of_the_time_is_seen(source: str) -> None:
    assert list(time_readings(ast.parse(source)))


@pytest.mark.parametrize("source", ["print(1)", "def f():\n    click.echo('x', err=True)"])
def test_a_print_is_seen(source: str) -> None:
    assert list(printing(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from random import shuffle",
        "from numpy.random import uniform",
        "np.random.seed(1)",
        "rng = np.random.default_rng()",
    ],
)
def test_a_global_random_draw_is_seen(source: str) -> None:
    assert list(global_random_draws(ast.parse(source)))


def test_a_seeded_generator_and_a_runs_clock_are_let_pass() -> None:
    tree = ast.parse("rng = np.random.default_rng(seed)\nrng.random()\nclock.now()")

    assert not list(global_random_draws(tree))
    assert not list(time_readings(tree))


# --- the command line starts light ------------------------------------------------------------


def test_the_command_line_loads_nothing_heavy() -> None:
    code = f"import sys, {PACKAGE}.cli.main; print(*[name for name in {HEAVY} if name in sys.modules])"

    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert answer.stdout.split() == []


def cpu_seconds_of(*words: str) -> float:
    command = [sys.executable, *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_help_takes_little_more_cpu_time_than_python_with_click() -> None:
    """Measured in turn, so that a busy machine slows down both."""
    helps, clicks = [], []
    for _ in range(3):
        helps.append(cpu_seconds_of("-m", PACKAGE, "--help"))
        clicks.append(cpu_seconds_of("-c", "import click"))

    assert min(helps) < 4 * min(clicks)
