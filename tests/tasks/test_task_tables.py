"""Tables of tasks: the paper's 47, and a user's table with its mistakes."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cfo_bench.errors import UserError
from cfo_bench.records import DataRef, Problem
from cfo_bench.tasks import inspect, listing, resolve, resolve_all
from cfo_bench.tasks.task_tables import paper, read_table

OWN = """\
tasks:
  - name: sales
    file: data/sales.csv
    target: price
    problem: regression
    tags: [own]
  - {name: credit, openml_data: 31, target: class, aliases: [cr]}
  - {name: a-task, openml_task: 59}
  - {name: wines, pmlb: wine_recognition, note: from Italy}
"""


@pytest.fixture
def table(home: Path) -> Path:
    path = home / "own.yaml"
    path.write_text(OWN)
    return path


def test_the_papers_tasks_are_all_there_with_its_numbers(shared: Path) -> None:
    with (shared / "paper" / "tasks.csv").open() as file:
        printed = {row["dataset"]: row for row in csv.DictReader(file)}
    table = {entry.name: entry for entry in paper()}
    assert len(table) == 47 and set(table) == set(printed)
    for name, row in printed.items():
        assert str(table[name].origins[0]) == f"openml:{row['openml_task_id']}"
        assert row["problem"] in table[name].tags and "paper" in table[name].tags


def test_every_short_name_of_the_papers_results_is_a_task(home: Path, shared: Path) -> None:
    names = set()
    for table in ("optimality_xgboost.csv", "optimality_dnn.csv"):
        with (shared / "paper" / table).open() as file:
            names |= {row["dataset"] for row in csv.DictReader(file)}

    assert len(names) > 40
    assert {resolve(name).task for name in names} <= {entry.name for entry in paper()}


def test_sizes_and_problems_are_those_of_the_data_sets_at_hand(shared: Path) -> None:
    by_number = {str(entry.origins[0]): entry for entry in paper()}
    with (shared / "data" / "index.csv").open() as file:
        rows = list(csv.DictReader(file))

    assert rows
    for row in rows:
        entry = by_number[f"openml:{row['openml_task_id']}"]
        assert (entry.problem, entry.rows) == (row["problem"], int(row["rows"]))
        assert entry.features in (int(row["features"]), None)


def test_a_short_name_finds_the_folders_data_first(home: Path, shared: Path) -> None:
    for name, file in (("bank", "bank-marketing"), ("breast", "BNG_breastTumor"), ("2dplane", "2dplanes")):
        assert resolve(name, shared / "data").path == str(shared / "data" / f"{file}.parquet")
    assert resolve("openml:3", shared / "data").source == "openml"


@pytest.mark.parametrize("name", ["adult", "openml:7592", "openml-7592", "Adult"])
def test_a_name_and_its_number_are_the_same_task(home: Path, name: str) -> None:
    assert resolve(name) == DataRef("adult", "openml", problem=Problem.BINARY, origins=("openml:7592",))


def test_a_task_that_no_table_has_is_called_by_its_origin(home: Path) -> None:
    for name in ("openml:1234", "openml-data:31", "pmlb:adult"):
        ref = resolve(name)
        assert (ref.task, ref.origins) == (name.replace(":", "-"), (name,))
        assert resolve(ref.task) == ref  # as the command that does a run again calls it


@pytest.mark.parametrize("name", ["openml:adult", "openml:", "openml-suite:x", "pmlb:../x", "openml:0"])
def test_an_origin_without_a_right_key_is_one_line(home: Path, name: str) -> None:
    with pytest.raises(Exception, match=r"after (openml|openml-suite|pmlb): comes") as caught:
        resolve(name)
    assert "\n" not in str(caught.value)


def test_a_users_table_adds_tasks_of_every_source(table: Path) -> None:
    (table.parent / "data").mkdir()
    (table.parent / "data" / "sales.csv").write_text(
        "a,price\n" + "".join(f"{i},{i / 3}\n" for i in range(30))
    )
    sales = resolve("sales", tables=[table])
    assert inspect(sales, 5).problem is Problem.REGRESSION and sales.table == str(table)
    assert resolve("cr", tables=[table]).origins == ("openml-data:31",)
    assert resolve("cr", tables=[table]).target == "class"
    assert resolve("a_task", tables=[table]).origins == ("openml:59",)
    assert resolve("openml:59", tables=[table]).task == "a-task"
    assert resolve("wines", tables=[table]).origins == ("pmlb:wine_recognition",)
    assert resolve("adult", tables=[table]).task == "adult"


def test_the_environment_names_tables_and_offline(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFO_BENCH_TASKS", str(table))
    assert resolve("wines").offline is False
    monkeypatch.setenv("CFO_BENCH_OFFLINE", "1")
    assert resolve_all("wines")[0].offline is True
    assert [row.name for row in listing() if "own" in row.tags] == ["sales"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {name: a, opnml_task: 3}", r"line 1: unknown key 'opnml_task' \(did you mean 'openml_task'\?\)"),
        ("- name: a\n  openml_task: three", r"line 2: openml_task is 'three': write a whole number above 0"),
        ("- name: a\n  pmlb: x\n  problem: binry", r"line 3: problem is 'binry': .*did you mean 'binary'"),
        ("- {pmlb: x}", "line 1: a task without a name"),
        ("- {name: a}", "line 1: task 'a' has no source: add one of openml_task, openml_data"),
        ("- {name: a, pmlb: x}\n- {name: a, pmlb: y}", "line 2: 'a' is the name in line 1 already"),
        ("- {name: a/b, pmlb: x}", "line 1: name is 'a/b': leave out slashes"),
        ("- {name: a, file: x.csv}", "line 1: task 'a' is from a file and has no target"),
        ("- {name: a, pmlb: x, target: y}", "has a target, which pmlb names itself"),
        ("- {name: a, openml_task: 1, openml_data: 2}", "leave one out"),
        ("- [a", "line 1: this is not YAML|line 2: this is not YAML"),
        ("- a", "line 1: 'a' is not a task"),
        ("tasks: 3", "lists no tasks"),
        ("", "lists no tasks"),
    ],
)
def test_a_wrong_table_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_a_missing_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file"):
        read_table(tmp_path / "absent.yaml")
