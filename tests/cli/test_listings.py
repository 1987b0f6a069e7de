"""`methods`, `learners` and `tasks`, as tables and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cfo_bench.cli.main import cli
from cfo_bench.errors import DataError, UnknownNameError
from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from cfo_bench.registry import Row
from cfo_bench.tasks import listing
from cfo_bench.terminal.tables import text_table


def output(*arguments: str) -> str:
    answer = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert answer.exit_code == 0
    return answer.stdout


@pytest.mark.parametrize(("command", "registry"), [("methods", METHODS), ("learners", LEARNERS)])
def test_a_listing_has_one_line_for_each_row_and_a_heading(command: str, registry: object) -> None:
    heading, rule, *lines = output(command).splitlines()

    assert heading.split()[0] == command.removesuffix("s")
    assert set(rule) == {"-", " "}
    assert [line.split()[0] for line in lines] == sorted(registry.rows())  # type: ignore[attr-defined]
    for line, row in zip(lines, [row for _, row in sorted(registry.rows().items())], strict=True):  # type: ignore[attr-defined]
        assert row.summary in line


@pytest.mark.parametrize(("command", "registry"), [("methods", METHODS), ("learners", LEARNERS)])
def test_a_listing_as_json_has_names_summaries_and_what_is_available(command: str, registry: object) -> None:
    rows = json.loads(output(command, "--json"))

    assert [row["name"] for row in rows] == sorted(registry.rows())  # type: ignore[attr-defined]
    assert all(list(row) == ["name", "summary", "available", "extra"] for row in rows)
    assert all(row["available"] is True for row in rows)


def test_a_method_that_lacks_a_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row("nowhere:Absent", "from the future", "baselines", ("a_package_that_nobody_has",))
    monkeypatch.setattr(METHODS, "builtin", {**METHODS.builtin, "absent": row})

    (line,) = [line for line in output("methods").splitlines() if line.startswith("absent")]
    (as_json,) = [row for row in json.loads(output("methods", "--json")) if row["name"] == "absent"]

    assert "pip install 'cfo-bench[baselines]'" in line
    assert (as_json["available"], as_json["extra"]) == (False, "baselines")


def test_the_options_of_one_method_are_listed_with_defaults_and_what_they_take() -> None:
    lines = output("methods", "cfo").splitlines()

    assert "delta_init   null         a number or null" in lines
    assert "redraw       false        true or false" in lines
    rows = json.loads(output("methods", "cfo", "--json"))
    assert {"option": "scale", "default": "log2", "takes": "log2 or ln"} in rows


def test_a_learner_without_options_says_so() -> None:
    assert output("learners", "synthetic") == "learner 'synthetic' has no options\n"
    assert output("learners", "synthetic", "--json") == "[]\n"


def test_the_options_of_an_unknown_method_are_an_error() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown method 'cfoo'.*did you mean 'cfo"):
        output("methods", "cfoo")


def test_the_tasks_are_those_that_have_a_name() -> None:
    lines = output("tasks").splitlines()[2:]

    assert [line.split()[0] for line in lines] == [row.name for row in listing()]


def test_a_task_as_json_has_its_facts() -> None:
    (iris,) = [row for row in json.loads(output("tasks", "--json")) if row["name"] == "iris"]

    facts = {"problem": "multiclass", "source": "bundled", "rows": 150, "features": 4}
    assert {key: iris[key] for key in facts} == facts


def test_the_tasks_of_a_folder_are_listed(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text("name,file,target,problem\nmine,mine.csv,y,\n", encoding="utf-8")

    rows = json.loads(output("tasks", "--data-dir", str(tmp_path), "--json"))

    (mine,) = [row for row in rows if row["name"] == "mine"]
    assert (mine["problem"], mine["rows"]) == (None, None)


def test_a_folder_without_an_index_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no index.csv in"):
        output("tasks", "--data-dir", str(tmp_path))


def test_numbers_align_right_and_texts_left() -> None:
    table = text_table(["name", "n"], [["a", "1"], ["long one", "10"]], right=[1])

    assert table.splitlines() == ["name       n", "--------  --", "a          1", "long one  10"]
