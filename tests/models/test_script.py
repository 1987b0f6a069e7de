"""Scripts of configurations from anybody's traces: values are literals, and no text becomes code."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.cli.main import cli
from cfo_bench.errors import UserError
from cfo_bench.models import ModelRecipe, ScriptColumns, script
from cfo_bench.models.recipe import checked, literal
from cfo_bench.records import Problem
from tests.conftest import WriteRun
from tests.models.test_best import CONFIGS, namespace, require

HARM = "__import__('os').system('touch harmed')"
# Text that ends a string, a comment, a docstring or a line in some way of writing it.
BREAKING = ['"', "'", '"""', "'''", "\\", "\\N{", "\n", "\r", "\x0c", "\x00", "\u2028", "{", "}", "#", HARM]
TEXT = st.lists(st.sampled_from(BREAKING) | st.text(max_size=5), max_size=6).map("".join)
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.lists(TEXT, max_size=2)
OPTIONS = {
    "xgboost": {"categories": st.sampled_from(["codes", "native"])},
    "knn": {"algorithm": st.sampled_from(["auto", "brute", "kd_tree", "ball_tree"])},
    "dnn": {"patience": st.integers(1), "min_improvement": st.floats(0, 0.9)},
}

CONSTANTS = ("TARGET", "DROP", "WEIGHT", "TARGET_ENCODED", "PROBLEM", "ROUNDS", "PARAMETERS", "SEED")


def constants_and_code(text: str) -> tuple[dict[str, Any], str]:
    """The constants of a script that depend on the recipe, and everything else but the docstring."""
    tree = ast.parse(text)
    constants, rest = {}, []
    for statement in tree.body[1:]:
        if isinstance(statement, ast.Assign) and (name := ast.unparse(statement.targets[0])) in CONSTANTS:
            constants[name] = ast.literal_eval(statement.value)
        else:
            rest.append(ast.dump(statement))
    assert ast.get_docstring(tree) is not None
    return constants, "\n".join(rest)


COLUMNS = st.builds(
    ScriptColumns, TEXT, st.lists(TEXT, max_size=3).map(tuple), st.none() | TEXT, st.tuples(TEXT)
)


@given(data=st.data(), columns=COLUMNS, about=st.lists(TEXT, max_size=3))
@pytest.mark.parametrize("learner", sorted(CONFIGS))
def test_hostile_text_and_values_change_only_literals_and_the_docstring(
    learner: str, data: st.DataObject, columns: ScriptColumns, about: list[str]
) -> None:
    require(learner)
    name = data.draw(st.sampled_from(sorted(CONFIGS[learner])))
    value, is_whole = data.draw(VALUES), type(CONFIGS[learner][name]) is int
    config = {**CONFIGS[learner], name: value}
    has_its_type = type(value) is int or (not is_whole and type(value) is float and math.isfinite(value))
    options = data.draw(st.fixed_dictionaries({}, optional=OPTIONS.get(learner, {})))
    problem = data.draw(st.sampled_from(Problem))
    try:
        recipe = checked(ModelRecipe(learner, config, problem, data.draw(st.integers(0)), options))
    except UserError:
        assert not has_its_type
        return
    assert has_its_type

    constants, code = constants_and_code(script(recipe, columns, about))

    plain = ModelRecipe(learner, CONFIGS[learner], problem, 0, options)
    assert code == constants_and_code(script(plain, ScriptColumns("y"), ["About it."]))[1]
    assert constants["TARGET"] == columns.target and constants["DROP"] == list(columns.drop)
    assert constants["WEIGHT"] == columns.weight
    assert constants["TARGET_ENCODED"] == list(columns.target_encoded)
    assert value in (constants.get("ROUNDS"), *constants["PARAMETERS"].values())


@given(st.recursive(VALUES, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=9))
def test_a_literal_is_the_value_again_or_refused(value: Any) -> None:
    try:
        text = literal(value)
    except UserError:
        assert re.search("inf|nan", repr(value))
        return

    assert ast.literal_eval(text) == value and text.encode()


@pytest.mark.parametrize(
    "value", [math.inf, math.nan, object(), print, type("Evil", (str,), {"__repr__": lambda self: HARM})()]
)
def test_what_has_no_literal_is_refused(value: Any) -> None:
    with pytest.raises(UserError, match="can't be written into a script"):
        literal(value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_estimators": HARM}, r"n_estimators = \"__import__.* is not a whole number"),
        ({"n_estimators": True}, "n_estimators = True is not a whole number"),
        ({"n_estimators": 7.0}, "n_estimators = 7.0 is not a whole number"),
        ({"learning_rate": "0.1"}, "learning_rate = '0.1' is not a finite number"),
        ({"learning_rate": math.inf}, "learning_rate = inf is not a finite number"),
        ({'x": 1}\n' + HARM + "\n#": 1}, "unknown"),
    ],
)
def test_a_configuration_of_other_types_than_the_learners_space_is_refused(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        checked(ModelRecipe("xgboost", {**CONFIGS["xgboost"], **change}, Problem.BINARY))


def test_a_configuration_without_a_hyperparameter_is_refused() -> None:
    config = {name: value for name, value in CONFIGS["xgboost"].items() if name != "subsample"}

    with pytest.raises(UserError, match=r"missing \['subsample'\]"):
        checked(ModelRecipe("xgboost", config, Problem.BINARY))


@pytest.mark.parametrize("options", [{"max_epochs": HARM}, {"max_epochs": 0}, {HARM: 1}])
def test_options_of_other_types_than_the_learners_are_refused(options: dict[str, Any]) -> None:
    require("dnn")
    with pytest.raises(UserError, match=r"option|max_epochs"):
        checked(ModelRecipe("dnn", CONFIGS["dnn"], Problem.BINARY, 0, options))


def write_foreign_run(write_run: WriteRun, config: dict[str, Any], **spec: Any) -> None:
    """A finished run of xgboost whose only trial has this configuration."""
    path = write_run("t", "rs", 0, [(1, 0.2, 1)], is_sealed=False)
    rows = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    rows[0]["spec"] |= spec
    rows[0]["cfo_bench"] = {"version": '"""\n' + HARM + "\x1b[2J"}
    rows[1]["config"] = config
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


@pytest.mark.parametrize(
    "config",
    [
        {**CONFIGS["xgboost"], "n_estimators": HARM},
        {**CONFIGS["xgboost"], 'a": 1}\n' + HARM + '\nx = {"': 1},
        {**CONFIGS["xgboost"], "subsample": '", ' + HARM + ', "'},
    ],
)
def test_no_script_is_made_of_a_trace_with_code_in_its_configuration(
    config: dict[str, Any], write_run: WriteRun, tmp_path: Path
) -> None:
    write_foreign_run(write_run, config)

    for words in (["--python"], ["--fit", "mine.csv", "--target", "y", "-o", str(tmp_path / "m.ubj")]):
        answer = CliRunner().invoke(cli, ["best", str(tmp_path / "results"), *words])
        assert answer.exit_code != 0 and isinstance(answer.exception, UserError)
        assert "configuration" in str(answer.exception) and not answer.stdout


def test_foreign_names_stay_in_the_docstring_and_escape_nothing(write_run: WriteRun, tmp_path: Path) -> None:
    write_foreign_run(write_run, CONFIGS["xgboost"])

    answer = CliRunner().invoke(cli, ["best", str(tmp_path / "results"), "--python"])

    assert answer.exit_code == 0, answer.output
    assert "\x1b" not in answer.stdout
    _, code = constants_and_code(answer.stdout)
    assert HARM not in code


def test_labels_that_are_whole_numbers_are_written_so_in_a_column_with_gaps() -> None:
    code = namespace(script(ModelRecipe("knn", CONFIGS["knn"], Problem.BINARY), ScriptColumns("y"), ["It."]))
    frame = pd.DataFrame({"a": range(41), "y": [None, *[0, 1] * 20]})

    assert code["train"](frame)["classes"] == ["0", "1"]
