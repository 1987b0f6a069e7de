"""The options of each method: those that were given, over its defaults."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cfo_bench.errors import OptionError, UserError
from cfo_bench.suite.choices import Choice
from cfo_bench.suite.chosen_options import method_options


def named(*names: str) -> list[Choice]:
    return [Choice(name) for name in names]


def test_an_option_reaches_every_method_or_the_one_it_names() -> None:
    given = {"scale": "ln", "cfo.delta_init": 2}
    cfo, flow2 = method_options(named("cfo", "flow2"), given, parallel=1)

    assert (cfo.options["scale"], cfo.options["delta_init"]) == ("ln", 2)
    assert flow2.options["scale"] == "ln" and "delta_init" not in flow2.options


def test_an_option_that_only_one_of_two_methods_has_says_how_to_give_it_to_one() -> None:
    with pytest.raises(OptionError, match=r"'rs' has no option 'scale'.*METHOD\.KEY=VALUE"):
        method_options(named("cfo", "rs"), {"scale": "ln"}, parallel=1)


def test_options_for_a_method_that_is_not_run_are_refused() -> None:
    with pytest.raises(OptionError, match="options for bohb, which is not among the methods cfo, rs"):
        method_options(named("cfo", "rs"), {"bohb.eta": 3}, parallel=1)


def test_a_method_named_twice_is_one_method() -> None:
    assert [choice.name for choice in method_options(named("rs", "cfo", "rs"), {}, parallel=1)] == [
        "rs",
        "cfo",
    ]


def test_the_number_of_workers_goes_to_methods_that_take_it() -> None:
    (method,) = method_options(named("cfo"), {}, parallel=3)

    assert method.options["parallel"] == 3


def test_workers_is_not_an_option_of_its_own() -> None:
    with pytest.raises(OptionError, match="given by --parallel"):
        method_options(named("cfo"), {"parallel": 2}, parallel=1)


@pytest.fixture
def plug_in(tmp_path: Path) -> str:
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    def __init__(self, space, start, seed, *, step: float = 1.0): ...\n")
    return f"{file}:Mine"


def test_a_method_of_one_trial_at_a_time_refuses_workers(plug_in: str) -> None:
    with pytest.raises(OptionError, match=r"--parallel 2: method .*Mine' runs one trial at a time"):
        method_options(named(plug_in), {}, parallel=2)


def test_a_method_from_a_file_is_addressed_by_its_class(plug_in: str) -> None:
    (method,) = method_options(named(plug_in), {"Mine.step": 0.5}, parallel=1)

    assert method.options == {"step": 0.5}


def test_a_folder_that_must_not_be_imported_is_not(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("raise RuntimeError('imported')")
    method = f"optunahub:{tmp_path}:Mine"

    methods = method_options(named(method), {"Mine.step": 0.5}, 2, import_files=False)

    assert methods == [Choice(method, {"step": 0.5})]
    with pytest.raises(UserError, match=r"no folder .*absent"):
        method_options(named(f"optunahub:{tmp_path}/absent:Mine"), {}, 1, import_files=False)
    with pytest.raises(UserError, match=r"package .* can't be imported: .*RuntimeError: imported"):
        method_options(named(method), {}, 1)


@pytest.mark.parametrize("option", ["parallel", "n_rows", "cost_related", "budget_seconds"])
def test_an_option_that_the_run_sets_is_refused(option: str) -> None:
    with pytest.raises(OptionError, match=f"^option '{option}': "):
        method_options(named("rs"), {option: 1}, 1)


def test_a_file_that_must_not_be_imported_has_the_options_that_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise RuntimeError('imported')")
    method = f"{tmp_path / 'mine.py'}:Mine"

    [choice] = named(method)
    given = {"Mine.step": 0.5, "other": None}
    methods = method_options([replace(choice, options={"step": 2, "size": 3})], given, 2, import_files=False)

    assert methods == [Choice(method, {"step": 0.5, "size": 3, "other": None})]
    with pytest.raises(UserError, match=r"no file .*absent\.py"):
        method_options(named(f"{tmp_path / 'absent.py'}:Mine"), {}, 1, import_files=False)
    with pytest.raises(UserError, match="imported"):
        method_options(named(method), {}, 1)


def test_two_methods_that_would_share_a_folder_are_refused(plug_in: str, tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text("class Mine:\n    def __init__(self, space, start, seed): ...\n")

    with pytest.raises(UserError, match="also has the name 'Mine'"):
        method_options(named(plug_in, f"{other}:Mine"), {}, parallel=1)
