"""`methods`, `learners` and `tasks`, as tables and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cfo_bench.cli.main import cli
from cfo_bench.cli.run import run
from cfo_bench.errors import DataError, UnknownNameError, UserError
from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from cfo_bench.registry import Registry, Row
from cfo_bench.tasks import listing
from cfo_bench.terminal.command_options import GROUPS
from cfo_bench.terminal.printing import text_table
from tests.helpers.terminals import on_a_terminal


def output(*arguments: str) -> str:
    answer = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert answer.exit_code == 0
    return answer.stdout


@pytest.mark.parametrize(("command", "registry"), [("methods", METHODS), ("learners", LEARNERS)])
def test_a_listing_has_one_line_for_each_row_and_family_and_a_heading(
    command: str, registry: Registry
) -> None:
    heading, rule, *lines = output(command).splitlines()

    assert heading.split()[0] == command.removesuffix("s")
    assert set(rule) == {"-", " "}
    listed = {line.split()[0]: line for line in lines}
    assert len(listed) == len(lines)
    assert listed.keys() == registry.listed().keys()
    for name, row in registry.listed().items():
        assert row.summary in listed[name]
        assert row.source in listed[name]


@pytest.mark.parametrize(("command", "registry"), [("methods", METHODS), ("learners", LEARNERS)])
def test_a_listing_as_json_has_names_summaries_and_what_is_available(
    command: str, registry: Registry
) -> None:
    rows = json.loads(output(command, "--json"))

    keys = ["name", "summary", "available", "extra", *(["group", "source"] if command == "methods" else [])]
    assert {row["name"] for row in rows} == registry.listed().keys()
    assert all(list(row) == keys for row in rows)
    assert all(row["available"] is (registry.row(row["name"]).missing is None) for row in rows)


def test_methods_are_listed_group_by_group_and_each_says_where_it_is_from() -> None:
    rows = json.loads(output("methods", "--json"))

    groups = [row["group"] for row in rows]
    assert list(dict.fromkeys(groups)) == ["paper", "peers", "multi-fidelity", "references"]
    for group in set(groups):
        names = [row["name"] for row in rows if row["group"] == group]
        assert names == sorted(names)
        assert groups.count(group) == groups[groups.index(group) :].count(group)
    assert all(row["source"].startswith(("https://", "docs/")) for row in rows)
    assert {"optuna:NAME", "optunahub:FOLDER:CLASS", "nevergrad:NAME"} <= {row["name"] for row in rows}


@pytest.mark.parametrize(("command", "registry"), [("methods", METHODS), ("learners", LEARNERS)])
def test_on_80_columns_each_name_has_what_it_is_whether_it_is_available_and_a_whole_address(
    command: str, registry: Registry
) -> None:
    lines = on_a_terminal(80, "-m", "cfo_bench", command)

    assert max(map(len, lines)) <= 80
    blocks: dict[str, list[str]] = {}
    for line in lines:
        if not line.startswith(" "):
            blocks[line] = []
        else:
            blocks[list(blocks)[-1]].append(line.strip())
    for name, row in registry.listed().items():
        text = " ".join(blocks[name])
        assert text.startswith(row.summary)
        assert ("available" if row.missing is None else f"not available: {row.remedy}") in text
        assert not row.source or row.source in blocks[name]


def test_learners_have_no_groups() -> None:
    assert output("learners").splitlines()[0].split() == ["learner", "available", "what", "it", "is"]


def test_a_method_that_lacks_a_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row("nowhere:Absent", "from the future", "baselines", ("a_package_that_nobody_has",))
    monkeypatch.setattr(METHODS, "builtin", {**METHODS.builtin, "absent": row})

    (line,) = [line for line in output("methods").splitlines() if line.startswith("absent")]
    (as_json,) = [row for row in json.loads(output("methods", "--json")) if row["name"] == "absent"]

    assert "pip install 'cfo-bench[baselines]'" in line
    assert (as_json["available"], as_json["extra"]) == (False, "baselines")


def test_the_options_of_one_method_are_listed_with_defaults_types_and_what_they_do() -> None:
    text = output("methods", "cfo")

    assert "delta_init=null  (a number or null)\n    the first step; null: √d\n" in text
    assert "redraw=false  (true or false)\n    draw another restart point" in text
    listed = json.loads(output("methods", "cfo", "--json"))["options"]
    (scale,) = [row for row in listed if row["option"] == "scale"]
    assert scale == {
        "option": "scale",
        "default": "log2",
        "takes": "log2 or ln",
        "does": "the logarithm in whose units steps are taken: `log2` or `ln`",
    }


@pytest.mark.parametrize("registry", [METHODS, LEARNERS], ids=["methods", "learners"])
def test_every_option_of_ours_says_what_it_does(registry: Registry) -> None:
    silent = [
        f"{name}: {option.name}"
        for name, row in registry.rows().items()
        if row.missing is None
        for option in registry.described_options(name)
        if not option.does
    ]
    assert silent == []


def test_an_option_is_explained_over_several_lines_and_by_the_class_that_is_extended() -> None:
    does = {one.name: one.does for one in METHODS.described_options("cfo-0")}

    assert does["step"].endswith("`literal`: h = μ = δ; `sign`: δ towards the lower side")
    assert does["delta_init"] == "the first step; null: √d"


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


def test_every_option_of_run_is_in_one_group_of_its_help() -> None:
    text = output("run", "--help")

    titles = [line[:-1] for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == list(GROUPS)
    for option in run.params:
        if isinstance(option, click.Option):
            assert len(re.findall(rf"^  (-\w, )?{option.opts[-1]}\b(?!-)", text, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("TPESampler", {"tpe"}),
        ("default sampler", {"tpe"}),
        ("GPSampler", {"optuna-gp"}),
        ("skopt", {"gpei", "gpeips", "gp-cooled"}),
        ("gp_minimize", {"gpei"}),
        ("random-search", {"rs"}),
        ("differential evolution", {"dehb"}),
        ("HyperparameterOptimizationFacade", {"smac"}),
        ("fmin", {"hyperopt-tpe"}),
        ("hpbandster", {"bohb", "hyperband"}),
        ("flaml", {"blendsearch", "flaml-cfo"}),
        ("CmaEsSampler", {"cma-es"}),
        ("QMCSampler", {"optuna:NAME"}),
        ("NSGAIISampler", {"optuna:NSGAIISampler"}),
        ("NGOpt", {"nevergrad:NAME"}),
        ("TwoPointsDE", {"nevergrad:TwoPointsDE"}),
        ("RandomSearch", {"rs"}),
        ("SMAC3", {"smac", "smac-mf"}),
        ("HyperbandFacade", {"hyperband"}),
        ("BayesOpt", {"gpei", "botorch-ei", "optuna-gp"}),
        ("Bayesian optimization", {"gpei", "botorch-ei", "optuna-gp"}),
        ("LogExpectedImprovement", {"botorch-ei"}),
        ("BHPT", {"boca", "fabolas"}),
        ("anneal.suggest", {"hyperopt-tpe"}),
        ("gbrt_minimize", {"smac"}),
        ("SMAC4HPO", {"smac"}),
        ("SMAC4MF", {"smac-mf"}),
        ("qLogExpectedImprovement", {"botorch-ei"}),
        ("upper confidence bound", {"boca"}),
        ("max-value entropy", {"fabolas"}),
        ("qKnowledgeGradient", {"botorch-ei"}),
        ("TuRBO", {"optunahub:FOLDER:CLASS"}),
        ("Sobol", {"optuna:NAME"}),
        ("AxClient", {"exec:COMMAND"}),
        ("hyperopt.tpe.suggest", {"hyperopt-tpe"}),
        ("optuna.samplers.TPESampler", {"tpe"}),
        ("optuna.samplers.NSGAIISampler", {"optuna:NSGAIISampler"}),
        ("skopt.gp_minimize", {"gpei"}),
        ("flaml.BlendSearch", {"blendsearch"}),
        ("smac.HyperparameterOptimizationFacade", {"smac"}),
        ("BoTorchSampler", {"botorch-ei"}),
        ("TuneBOHB", {"bohb"}),
        ("ASHAScheduler", {"bohb", "dehb", "hyperband"}),
        ("OptunaSearch", {"tpe"}),
        ("SyneTune", {"exec:COMMAND"}),
        ("neps", {"exec:COMMAND"}),
        ("multi-fidelity", {"boca", "dehb", "fabolas", "hyperband", "smac-mf"}),
        *((name, {"exec:COMMAND"}) for name in ("HEBO", "Ax", "BORE", "Syne Tune")),
    ],
)
def test_a_method_is_found_by_the_names_that_the_users_of_its_package_know(word: str, names: set) -> None:
    for family in {name.partition(":")[0] for name in names if ":" in name}:
        if missing := METHODS.families[family].missing:
            pytest.skip(f"needs {missing}")
    found = {row["name"] for row in json.loads(output("methods", word, "--json"))}

    assert names <= found
    assert len(found) < 10


def test_the_name_of_one_algorithm_does_not_list_another_whose_name_contains_it() -> None:
    """hyperopt has tpe.suggest and atpe.suggest."""
    assert METHODS.matching("tpe.suggest").keys() == {"hyperopt-tpe"}


def test_every_other_name_of_a_method_leads_to_methods_that_are_listed() -> None:
    for name in METHODS.other_names:
        assert METHODS.matching(name).keys() <= METHODS.listed().keys(), name
        assert METHODS.matching(name), name


def test_a_peer_in_an_environment_of_its_own_is_answered_with_the_page_that_has_its_command() -> None:
    with pytest.raises(UserError, match=r"unknown method 'hebo': .*exec:COMMAND.*docs/methods.md"):
        METHODS.row("hebo")


def test_the_name_of_a_method_lists_its_options_even_if_others_contain_it() -> None:
    options = json.loads(output("methods", "tpe", "--json"))["options"]

    assert "multivariate" in {row["option"] for row in options}
