"""Names of methods and learners: their rows, programs and options."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Optional, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import MissingPackageError, OptionError, UnknownNameError, UserError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Trial
from cfo_bench.registry import (
    Registry,
    Row,
    code_file,
    existing_file,
    existing_program,
    fits,
    in_words,
    is_in_file,
    is_program,
    is_users_code,
    label,
    parameter_types,
    placed,
    program_label,
    words_of,
)

SOURCE = """
class Mine:
    def __init__(self, space, start, seed, *, step: float = 1.0, name: str = "x"): ...

class Other: ...

not_a_class = 3
"""


@pytest.fixture
def registry() -> Registry:
    return Registry(
        "method",
        "cfo_bench.test_methods",
        {
            "trial": Row("cfo_bench.records:Trial", "not a method, but a class"),
            "absent": Row(
                "nowhere.at.all:X", "needs what nobody has", "baselines", ("a_package_nobody_has",)
            ),
            "bare": Row("nowhere.at.all:X", "the same without an extra", None, ("a_package_nobody_has",)),
            "broken": Row("nowhere.at.all:X", "names a module that is not there"),
        },
        families={"named": Row("tests.test_registry:class_called", "a class of any name")},
    )


def class_called(name: str) -> type:
    if not name.isidentifier():
        raise UserError(f"no class can be called {name!r}: give a name")
    return type(name, (), {})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some file.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def test_a_name_becomes_its_class(registry: Registry) -> None:
    assert registry.load("trial") is Trial


def test_a_family_makes_the_class_that_is_named_after_the_colon(registry: Registry) -> None:
    assert registry.load("named:Anything").__name__ == "Anything"


def test_a_family_is_listed_among_the_names(registry: Registry) -> None:
    assert "named:NAME" in registry.listed()
    assert "named:NAME" not in registry.rows()


def test_a_family_refuses_a_name_in_its_own_words(registry: Registry) -> None:
    with pytest.raises(UserError, match="no class can be called '1st': give a name"):
        registry.load("named:1st")


def test_a_file_is_not_taken_for_a_family(registry: Registry, file: Path) -> None:
    assert registry.load(f"{file}:Mine").__name__ == "Mine"


def test_an_unknown_name_is_told_with_the_nearest_and_all_others(registry: Registry) -> None:
    with pytest.raises(UnknownNameError) as caught:
        registry.load("trail")

    assert str(caught.value) == (
        "unknown method 'trail' (did you mean 'trial'?): choose from absent, bare, broken, named:NAME, trial"
    )


def test_an_absent_extra_is_told_with_the_command_that_installs_it(registry: Registry) -> None:
    with pytest.raises(MissingPackageError) as caught:
        registry.load("absent")

    assert str(caught.value) == (
        "method 'absent' needs the package 'a_package_nobody_has', which is not installed: "
        "pip install 'cfo-bench[baselines]'"
    )


def test_an_absent_package_without_an_extra_is_told_by_its_own_name(registry: Registry) -> None:
    with pytest.raises(MissingPackageError, match=r"not installed: pip install a_package_nobody_has$"):
        registry.load("bare")


def test_the_table_is_printed_without_importing_what_it_names(registry: Registry) -> None:
    assert {name: row.missing for name, row in registry.rows().items()} == {
        "absent": "a_package_nobody_has",
        "bare": "a_package_nobody_has",
        "broken": None,
        "trial": None,
    }


def test_a_module_that_can_not_be_imported_is_one_line(registry: Registry) -> None:
    with pytest.raises(UserError, match=r"^method 'broken' can't be imported: .*ModuleNotFoundError"):
        registry.load("broken")


@pytest.mark.parametrize("name", METHODS.listed())
def test_every_registered_method_has_a_summary_that_fits_a_line_and_a_link(name: str) -> None:
    row = METHODS.listed()[name]
    assert 5 < len(row.summary) <= 100
    assert row.source.startswith(("https://", "docs/"))


# --- files ------------------------------------------------------------------------------------


def test_a_class_in_a_file_needs_no_row(registry: Registry, file: Path) -> None:
    cls = registry.load(f"{file}:Mine")

    assert cls.__name__ == "Mine"
    assert registry.options(f"{file}:Mine", {"step": 2}) == {"step": 2, "name": "x"}


@pytest.mark.parametrize("name", ["not_a_class", "Absent", ""])
def test_what_is_no_class_in_the_file_is_refused(registry: Registry, file: Path, name: str) -> None:
    with pytest.raises(UserError, match=f"has no class '{name}': name one that it has"):
        registry.load(f"{file}:{name}")


def test_a_file_that_is_not_there_is_refused(registry: Registry) -> None:
    with pytest.raises(UserError, match=r"no file 'nowhere\.py'"):
        registry.load("nowhere.py:Mine")


@pytest.mark.parametrize("name", ["a/mine.py:Mine", "optunahub:a/package:Mine", "optunahub:x.py:Mine"])
def test_a_class_in_a_local_file_or_folder_is_known_as_such(name: str) -> None:
    assert is_in_file(name)
    assert label(name) == "Mine"


@pytest.mark.parametrize("name", ["cfo", "optuna:GPSampler", "nevergrad:NGOpt"])
def test_a_class_of_an_installed_package_is_not_in_a_local_file(name: str) -> None:
    assert not is_in_file(name)
    assert label(name) == name


def test_a_relative_path_in_a_name_is_meant_from_a_folder_on() -> None:
    folder = Path("/suites")
    assert placed("mine.py:Mine", folder) == "/suites/mine.py:Mine"
    assert placed("/a/mine.py:Mine", folder) == "/a/mine.py:Mine"
    assert placed("optunahub:package:Mine", folder) == "optunahub:/suites/package:Mine"
    assert placed("optunahub:/a/package:Mine", folder) == "optunahub:/a/package:Mine"
    assert placed("optuna:GPSampler", folder) == "optuna:GPSampler"


def test_the_folder_of_a_local_package_has_to_be_there(tmp_path: Path) -> None:
    assert existing_file(f"optunahub:{tmp_path}:Mine") == tmp_path
    for name in (f"optunahub:{tmp_path}/nowhere:Mine", "optunahub:Mine", "optunahub::Mine"):
        with pytest.raises(UserError, match=r"no folder '.*': give optunahub:FOLDER:CLASS"):
            existing_file(name)


def test_a_file_is_called_by_its_class_in_tables_and_folders() -> None:
    assert label("path/to/mine.py:Mine") == "Mine"
    assert label("cfo-0") == "cfo-0"


# --- entry points -----------------------------------------------------------------------------


def test_an_installed_package_adds_a_row(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "someones_methods-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: someones-methods\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[cfo_bench.test_methods]\nmine = someones_methods:Mine\n")
    (tmp_path / "someones_methods.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    assert registry.row("mine").summary == "from someones-methods"
    assert registry.load("mine") is sys.modules["someones_methods"].Mine


def test_a_package_can_not_take_the_name_of_a_built_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registry: Registry
) -> None:
    package = tmp_path / "rogue-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: rogue\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[cfo_bench.test_methods]\ntrial = rogue:Trial\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert registry.load("trial") is Trial


# --- options ----------------------------------------------------------------------------------


def test_given_options_stand_over_the_defaults() -> None:
    assert METHODS.options("rs", {}) == {"parallel": 1}
    assert METHODS.options("cfo", {"scale": "ln"})["scale"] == "ln"


def test_a_class_that_passes_options_on_has_those_of_the_class_it_extends(
    registry: Registry, tmp_path: Path
) -> None:
    file = tmp_path / "more.py"
    file.write_text(
        SOURCE
        + """
class More(Mine):
    def __init__(self, space, start, seed, *, name: str = "y", extra: bool = False, **options): ...

class Closed(Mine):
    def __init__(self, space, start, seed, *, own: int = 1): ...
""",
        encoding="utf-8",
    )

    assert registry.options(f"{file}:More", {"step": 2}) == {"step": 2, "name": "y", "extra": False}
    assert registry.options(f"{file}:Closed", {}) == {"own": 1}
    with pytest.raises(OptionError, match=r"option step of method .* is 'abc': give a number$"):
        registry.options(f"{file}:More", {"step": "abc"})


def test_an_unknown_option_is_told_with_those_there_are(registry: Registry, file: Path) -> None:
    with pytest.raises(
        OptionError, match=r"has no option 'stepp' \(did you mean 'step'\?\): its options are name, step$"
    ):
        registry.options(f"{file}:Mine", {"stepp": 1})
    with pytest.raises(OptionError, match=r"has no option 'a': its options are none$"):
        registry.options(f"{file}:Other", {"a": 1})


@pytest.mark.parametrize(("key", "value"), [("step", "abc"), ("step", True), ("step", None), ("name", 3)])
def test_a_value_of_the_wrong_type_is_refused(
    registry: Registry, file: Path, key: str, value: object
) -> None:
    with pytest.raises(OptionError, match=rf"option {key} of method .* is {value!r}: give (a number|text)$"):
        registry.options(f"{file}:Mine", {key: value})


@pytest.mark.parametrize("name", [name for name, row in METHODS.rows().items() if row.missing is None])
def test_every_default_of_a_registered_method_is_of_its_own_type(name: str) -> None:
    defaults = {option.name: option.default for option in METHODS.described_options(name)}

    assert METHODS.options(name, defaults) == defaults


# --- programs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("exec:venv/bin/python my_method.py", "my_method"),
        ("exec:python3.11 'my dir/my method.py' --fast", "my method"),
        ("exec:python -u -m hebo.client", "client"),
        ("exec:target/release/my-rust --config a.yaml", "my-rust"),
        ("exec:./own.py", "own"),
        ("exec:Rscript bo.R", "bo"),
        ("exec:env A=1 julia --project=. run.jl", "run"),
        ("exec:python tool.py --class a.py:B", "tool"),
        ("exec:python 'open", "exec:python 'open"),
        ("exec:", "exec:"),
    ],
)
def test_a_program_is_called_by_its_script(name: str, short: str) -> None:
    assert program_label(name) == label(name) == short
    assert is_program(name) and is_users_code(name) and not is_in_file(name)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("a/mine.py:Mine", "a/mine.py"),
        ("estimator:a/pipeline.py:make", "a/pipeline.py"),
        ("estimator:sklearn.svm.SVC", None),
        ("exec:'my venv/bin/python' -u 'a/my method.py' --config b.py", "a/my method.py"),
        ("exec:python -m hebo.client", None),
        ("exec:python 'open", None),
        ("optunahub:a/package:Mine", None),
        ("cfo", None),
    ],
)
def test_the_file_of_a_users_code_is_the_one_in_its_name(name: str, file: str | None) -> None:
    assert code_file(name) == file


@given(st.text(max_size=20))
def test_any_command_of_a_trace_has_a_label(command: str) -> None:
    assert label(f"exec:{command}")


@pytest.mark.parametrize(("name", "words"), [("exec:  ", "no program"), ("exec:python 'x", "quotes")])
def test_a_command_without_words_is_refused_in_one_line(name: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as refused:
        words_of(name)
    assert "\n" not in str(refused.value)


def test_a_program_that_is_not_there_is_refused() -> None:
    assert existing_program(f"exec:{sys.executable} -V") == [sys.executable, "-V"]
    with pytest.raises(UserError, match="no program 'pthon'"):
        existing_program("exec:pthon mine.py")


def test_files_beside_a_suite_are_found_from_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "a suite"
    folder.mkdir()
    for name in ("mine.py", "run", "python"):
        (folder / name).touch()

    moved = placed("exec:python mine.py --seed 3 /x/other.py", folder)
    assert words_of(moved) == ["python", str(folder / "mine.py"), "--seed", "3", "/x/other.py"]
    assert words_of(placed("exec:./run it", folder)) == [str(folder / "run"), "it"]
    assert placed("exec:./run  it", Path()) == "exec:./run  it"


# --- annotations ------------------------------------------------------------------------------------


if TYPE_CHECKING:
    from decimal import Decimal


class SupportsStep(Protocol):
    def step(self) -> float: ...


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (int, [0, -3], [0.5, "1", True, None]),
        (float, [0, 0.5], ["1", True, None]),
        (bool, [True, False], [0, 1, "true", None]),
        (str, ["", "x"], [1, None, True]),
        (float | None, [1, 0.5, None], ["x", False]),
        (Optional[int], [1, None], [0.5]),  # noqa: UP045
        (Literal["a", "b"], ["a", "b"], ["c", None, 1]),
        (Literal[1, 2], [1, 2], [True, 1.0, "1"]),
        (int | Literal["2d"], [3, "2d"], ["d", 0.5]),
        (list[int], [[], [1], ["unchecked"]], [1, "x", (1,)]),
        (Any, [1, "x", None], []),
        (SupportsStep, [1, "x", None], []),
        ("a name that was never resolved", [1, "x"], []),
    ],
)
def test_a_value_fits_or_it_does_not(hint: Any, good: list[object], bad: list[object]) -> None:
    assert all(fits(value, hint) for value in good)
    assert not any(fits(value, hint) for value in bad)


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (int, "a whole number"),
        (float | None, "a number or null"),
        (Literal["log2", "ln"], "log2 or ln"),
        (int | Literal["d"], "a whole number or d"),
        (bool, "true or false"),
        (dict, "a mapping"),
        (Any, "anything"),
    ],
)
def test_an_annotation_reads_as_words(hint: Any, words: str) -> None:
    assert in_words(hint) == words


def test_annotations_for_type_checkers_only_are_left_unchecked() -> None:
    class Mine:
        def __init__(self, *, step: Decimal) -> None: ...

    class Plain:
        def __init__(self, *, step: float) -> None: ...

    assert parameter_types(Mine) == {}
    assert parameter_types(Plain)["step"] is float
