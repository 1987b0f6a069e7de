"""Methods with options of their own, and how options are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfo_bench.errors import OptionError, UserError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import RunSpec, method_label, run_id
from cfo_bench.registry import Registry, Row
from cfo_bench.suite.choices import Choice, parse_options
from cfo_bench.suite.chosen_options import learner_options, method_options
from cfo_bench.suite.file import read
from cfo_bench.suite.model import Suite
from cfo_bench.terminal.command_options import suite_of


def of_file(tmp_path: Path, methods: str) -> Suite:
    file = tmp_path / "suite.yaml"
    file.write_text(f"tasks: iris\nbudget: 5\nmethods:\n{methods}")
    return read(file)


@pytest.mark.parametrize(
    ("written", "choice"),
    [
        ("- cfo-long: {method: cfo, delta_init: 1}", Choice("cfo", {"delta_init": 1}, "cfo-long")),
        ("- cfo: {name: cfo-long, delta_init: 1}", Choice("cfo", {"delta_init": 1}, "cfo-long")),
        ("- cfo:delta_init=1", Choice("cfo", {"delta_init": 1}, "cfo@delta_init=1")),
        ("- cfo-long: cfo:delta_init=1", Choice("cfo", {"delta_init": 1}, "cfo-long")),
        ("- mine: exec:python3 a.py --b c", Choice("exec:python3 a.py --b c", {}, "mine")),
        ("- same: {method: cfo}", Choice("cfo", {}, "same")),
        ("- cfo: {delta_init: 1}", Choice("cfo", {"delta_init": 1})),
    ],
)
def test_a_suite_file_names_a_variant(tmp_path: Path, written: str, choice: Choice) -> None:
    assert of_file(tmp_path, f"  {written}\n").methods == (choice,)


def test_a_variant_in_a_file_is_found_from_the_files_folder(tmp_path: Path) -> None:
    (choice,) = of_file(tmp_path, "  - slow: {method: 'mine.py:Mine', step: 1}\n").methods

    assert choice == Choice(f"{tmp_path}/mine.py:Mine", {"step": 1}, "slow")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "- a: {method: cfo, name: b}",
            r"line 4: method of a is 'cfo': .* already has a name before the colon",
        ),
        ("- a: {method: 3}", r"line 4: method of a is 3: write a name$"),
        ("- cfo: {name: 'a=b'}", r"line 4: the name 'a=b' of a method has a '=': write a name without it$"),
        ("- a=b: cfo", r"line 4: the name 'a=b' of a method has a '=': write a name without it$"),
        ("- cfo:delta_init=[", r"line 4: option 'delta_init=\[': '\[' is not a value"),
    ],
)
def test_a_wrong_name_is_told_with_its_line(tmp_path: Path, written: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        of_file(tmp_path, f"  {written}\n")


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ([Choice("cfo"), Choice("cfo", {"delta_init": 1})], "name 'cfo'.* as in name: my-cfo in a suite"),
        ([Choice("cfo", {}, "rs")], "'rs' is the name of another method: give cfo another name"),
        ([Choice("tuned-rf", {}, "rf")], "'rf': tuned-rf is a reference.* and has no variants"),
        ([Choice("cfo", {}, "a"), Choice("rs", {}, "a")], "another method also has the name 'a'"),
    ],
)
def test_a_name_that_misleads_is_refused(choices: list[Choice], message: str) -> None:
    with pytest.raises(UserError, match=message):
        method_options(choices, {}, 1)


def test_two_pipelines_need_a_function_each() -> None:
    pipelines = [Choice("estimator:sklearn.pipeline.Pipeline", {"fixed": {"steps": [step]}}) for step in "ab"]

    with pytest.raises(UserError, match=r"name 'Pipeline', .*: return each from a function of its own"):
        learner_options(pipelines, {}, import_files=False)


def test_an_option_addresses_a_variant_by_its_name() -> None:
    choices = [Choice("cfo"), Choice("cfo", {"delta_init": 1}, "long.v2")]

    plain, variant = method_options(choices, {"long.v2.delta_init": 3, "scale": "ln"}, 1)

    assert (plain.options["delta_init"], variant.options["delta_init"]) != (3, 1)
    assert variant.options["delta_init"] == 3 and variant.variant == "long.v2"
    assert plain.options["scale"] == variant.options["scale"] == "ln"


def test_a_variant_that_is_called_like_its_method_is_none() -> None:
    (choice,) = method_options([Choice("cfo", {"delta_init": 1}, "cfo")], {}, 1)

    assert choice.variant == ""


FAMILIES = Registry(
    "method",
    "cfo_bench.none",
    {"cfo": Row("a:B", "")},
    {"optuna": Row("a:b", ""), "exec": Row("a:b", "", takes_all=True), "optunahub": Row("a:b", "")},
)


@pytest.mark.parametrize(
    ("word", "name", "options"),
    [
        ("cfo", "cfo", ""),
        ("cfo:a=1", "cfo", "a=1"),
        ("cfo:a=x:y=1,b=2", "cfo", "a=x:y=1,b=2"),
        ("optuna:GPSampler", "optuna:GPSampler", ""),
        (
            "optuna:TPESampler:multivariate=true,group=true",
            "optuna:TPESampler",
            "multivariate=true,group=true",
        ),
        ("optunahub:some/dir:Class", "optunahub:some/dir:Class", ""),
        ("optunahub:some/dir:Class:n=1", "optunahub:some/dir:Class", "n=1"),
        ("exec:A=1 python x.py --host a:port=3", "exec:A=1 python x.py --host a:port=3", ""),
        ("mine.py:Mine", "mine.py:Mine", ""),
        ("mine.py:Mine:step=1e-3", "mine.py:Mine", "step=1e-3"),
        ("odd:a=1/mine.py:Mine", "odd:a=1/mine.py:Mine", ""),
    ],
)
def test_a_word_is_split_where_its_options_begin(word: str, name: str, options: str) -> None:
    assert FAMILIES.split_options(word) == (name, options)


def asked(*methods: str, names: tuple[str, ...] = (), file: Path | None = None) -> tuple[Choice, ...]:
    given = {"methods": methods, "variants": names, "tasks": ("iris",), "budget_seconds": 5.0}
    return suite_of(file and str(file), given).methods


def test_the_command_line_names_variants_in_the_order_of_the_methods() -> None:
    long, ln = Choice("cfo", {"delta_init": 1}, "long"), Choice("cfo", {"scale": "ln"}, "ln")

    assert asked("cfo", "cfo:delta_init=1", names=("long",)) == (Choice("cfo"), long)
    assert asked("cfo:delta_init=1", "cfo:scale=ln", names=("long", "ln")) == (long, ln)
    assert asked("rs", "cfo", names=("a", "b")) == (Choice("rs", {}, "a"), Choice("cfo", {}, "b"))
    (both,) = asked("cfo:delta_init=1,scale=ln")
    assert both == Choice("cfo", {"delta_init": 1, "scale": "ln"}, "cfo@delta_init=1,scale=ln")
    (listed,) = asked("study:values=1,2,5-9")
    assert listed.options == {"values": "1,2,5-9"}


def test_names_that_can_be_meant_for_several_methods_are_refused() -> None:
    with pytest.raises(UserError, match="1 --name for 2 --method, 0 of them with options: give as many"):
        asked("cfo", "rs", names=("a",))
    with pytest.raises(UserError, match="the name 'a=b' of a method"):
        asked("cfo", names=("a=b",))
    with pytest.raises(UserError, match="--name a names a --method: give that too"):
        suite_of(None, {"variants": ("a",)})


def test_a_variant_of_a_file_is_chosen_by_its_name_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text("methods: [cfo, {long: {method: cfo, delta_init: 1}}]\n")

    assert asked("long", file=file) == (Choice("cfo", {"delta_init": 1}, "long"),)
    assert asked("cfo", file=file) == (Choice("cfo"),)


def test_the_name_is_in_the_id_of_a_run_and_an_old_header_has_none() -> None:
    spec = RunSpec("xgboost", "iris", "cfo", 0, 0, "a/b")

    assert run_id(spec) == "xgboost/iris/a%2Fb/fold-0_seed-0"
    assert method_label({"method": "x.py:Mine"}) == "Mine"
    assert method_label({"method": "cfo", "variant": ""}) == "cfo"
    assert method_label({"method": "cfo", "variant": "long"}) == "long"


def test_no_builtin_method_has_an_option_that_a_suite_takes_for_a_name() -> None:
    installed = [name for name, row in METHODS.builtin.items() if row.missing is None]

    assert not {"name", "method"} & {key for name in installed for key in METHODS.options(name, {})}


# --- key=value --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("a=1", 1),
        ("a=0.5", 0.5),
        ("a=1e-3", 0.001),
        ("a=-2E4", -20000.0),
        ("a=24:00:00", "24:00:00"),
        ("a=true", True),
        ("a=False", False),
        ("a=null", None),
        ("a=2^(d-1)", "2^(d-1)"),
        ("a=x=y", "x=y"),
        ("a=[1, 2]", [1, 2]),
        ("a=", None),
    ],
)
def test_a_value_is_read_as_what_it_looks_like(word: str, value: object) -> None:
    assert parse_options([word]) == {"a": value}


def test_the_last_of_two_values_wins() -> None:
    assert parse_options(["a=1", "a=2"]) == {"a": 2}


@pytest.mark.parametrize("word", ["a", "=1", ""])
def test_a_word_without_key_or_value_is_refused(word: str) -> None:
    with pytest.raises(OptionError, match="write key=value"):
        parse_options([word])


def test_a_value_that_is_no_yaml_is_refused() -> None:
    with pytest.raises(OptionError, match=r"'\[1' is not a value"):
        parse_options(["a=[1"])
