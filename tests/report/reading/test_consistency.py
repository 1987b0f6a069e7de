"""Runs that may not be compared are left out with a warning; unequal conditions are reported."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from cfo_bench.records import EndReason
from cfo_bench.report.numbers.scores import score_task
from cfo_bench.report.reading.consistency import comparable, unequal_conditions
from cfo_bench.report.reading.load import load
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.schema import encode

TRIALS = [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)]


def change(path: Path, part: str, **values: Any) -> None:
    """Rewrites a trace as if its run had been made otherwise."""
    first, _, rest = path.read_bytes().partition(b"\n")
    header = orjson.loads(first)
    header[part] = {**header.get(part, {}), **values}
    path.write_bytes(orjson.dumps(header) + b"\n" + rest)


@pytest.mark.parametrize(
    ("part", "values", "said"),
    [
        ("spec", {"budget_seconds": 60.0}, "budgets (seconds), 100 (3 runs) and 60 (1 run): 1 run left out"),
        ("spec", {"clock": "virtual"}, "clocks, virtual (1 run) and wall (3 runs)"),
        ("spec", {"validation": "holdout"}, "ways of validation"),
        ("spec", {"n_folds": 5}, "numbers of folds"),
        ("spec", {"parallel": 4}, "trials at once"),
        ("spec", {"threads": 2}, "threads"),
        ("spec", {"learner_options": {"categories": "one-hot"}}, "options of the learner"),
        ("data", {"sha256": "f" * 64}, "versions of the data (SHA-256), 000000000000 (3 runs) and ffff"),
    ],
)
def test_a_stray_run_is_left_out_by_name_and_all_others_stay(
    write_run: Any, tmp_path: Path, part: str, values: dict[str, Any], said: str
) -> None:
    for task in ("good", "mixed"):
        for method in ("cfo", "rs"):
            for fold in (0, 1):
                path = write_run(task, method, fold, TRIALS)
    change(path, part, **values)

    found = comparable(load(tmp_path / "results").runs)

    assert len(found.runs) == 7
    assert ("mixed", "rs", 1) not in {(one.task, one.method, one.fold) for one in found.runs}
    (line,) = found.warnings
    assert line.startswith("task 'mixed' with xgboost: its runs have different") and said in line
    assert line.endswith(": 1 run left out, rs fold 1 seed 0")


def test_a_run_with_another_content_of_the_metrics_file_is_left_out_and_older_traces_stay(
    write_run: Any, tmp_path: Path
) -> None:
    for fold, letter in enumerate("aaab"):
        change(write_run("t", "cfo", fold, TRIALS), "own_code", metric=letter * 64)
    for fold in range(4):  # of an older version, which does not know the content
        write_run("t", "rs", fold, TRIALS)

    found = comparable(load(tmp_path / "results").runs)

    assert sorted((run.method, run.fold) for run in found.runs) == [
        *(("cfo", fold) for fold in range(3)),
        *(("rs", fold) for fold in range(4)),
    ]
    assert found.warnings == [
        "task 't' with xgboost: its runs have different versions of the metric's file (SHA-256), "
        "aaaaaaaaaaaa (3 runs) and bbbbbbbbbbbb (1 run): 1 run left out, cfo fold 3 seed 0"
    ]


def test_the_same_difference_on_many_tasks_is_told_in_one_line(write_run: Any, tmp_path: Path) -> None:
    for task in "abcdefg":
        for method in ("cfo", "rs", "bohb"):
            path = write_run(task, method, 0, TRIALS)
        change(path, "spec", budget_seconds=60.0 if task < "g" else 50.0)
    for task in "ab":
        change(write_run(task, "cfo", 1, TRIALS), "spec", options={"mode": "tuned"})
        change(write_run(task, "rs", 1, TRIALS), "spec", options={"k": 1})

    found = comparable(load(tmp_path / "results").runs)

    assert found.warnings == [
        "7 tasks have runs with different budgets (seconds), such as task 'a' with xgboost, 100 (4 runs) and "
        "60 (1 run): 7 runs left out, a bohb fold 0; b bohb fold 0; c bohb fold 0; d bohb fold 0; "
        "e bohb fold 0; and 2 more",
        "2 tasks have runs with different options of a method, such as task 'a' with xgboost, "
        '{"mode":"tuned"} (1 run) and {} (1 run): all are left out, as no setting is the most '
        "frequent; give each its own --results",
    ]


def test_without_a_majority_the_task_is_left_out_with_a_remedy(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS)
    change(write_run("t", "rs", 0, TRIALS), "spec", budget_seconds=60.0)
    write_run("u", "cfo", 0, TRIALS)

    found = comparable(load(tmp_path / "results").runs)

    assert [one.task for one in found.runs] == ["u"]
    assert "100 (1 run) and 60 (1 run): all are left out, as no setting is the most" in found.warnings[0]
    assert found.warnings[0].endswith("give each its own --results")


def test_a_method_with_other_options_on_other_folds_is_not_one_method(write_run: Any, tmp_path: Path) -> None:
    for fold in (0, 1):
        write_run("t", "cfo", fold, TRIALS)
    change(write_run("t", "cfo", 2, TRIALS), "spec", options={"mode": "tuned"})

    found = comparable(load(tmp_path / "results").runs)

    assert [one.fold for one in found.runs] == [0, 1]
    assert "its runs have different options of cfo" in found.warnings[0]


def test_a_run_that_is_there_twice_is_not_counted_twice(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "rs", 0, TRIALS)
    path = write_run("t", "cfo", 0, TRIALS)
    copy = tmp_path / "results" / "copy" / path.name
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())

    same = comparable(load(tmp_path / "results").runs)

    assert sorted(one.method for one in same.runs) == ["cfo", "rs"]
    assert "exists twice" in same.warnings[0] and str(copy) in same.warnings[0]
    assert same.warnings[0].endswith("it is counted once")

    # Two different runs of the same name: nobody knows which one is meant.
    change(copy, "data", rows=7)
    other = comparable(load(tmp_path / "results").runs)

    assert [one.method for one in other.runs] == ["rs"]
    assert other.warnings[0].endswith("it is left out")


def test_many_copies_are_told_in_one_line(write_run: Any, tmp_path: Path) -> None:
    for task in "abcdefg":
        write_run(task, "cfo", 0, TRIALS)
    results = tmp_path / "results"
    shutil.copytree(results / "xgboost", results / "copies")
    write_run("g", "rs", 0, TRIALS)

    found = comparable(load(results).runs)

    assert len(found.runs) == 8
    name = "a/cfo/fold-0_seed-0.jsonl"
    assert found.warnings == [
        f"7 runs exist more than once, the first in {results / 'copies' / name} and "
        f"{results / 'xgboost' / name}, and each is counted once: a cfo fold 0; b cfo fold 0; c cfo fold 0; "
        "d cfo fold 0; e cfo fold 0; and 2 more"
    ]


def test_virtual_and_wall_clocks_are_not_pooled(write_run: Any, tmp_path: Path) -> None:
    for task in ("t", "u"):
        write_run(task, "cfo", 0, TRIALS)
    change(write_run("simulated", "cfo", 0, TRIALS), "spec", clock="virtual")
    change(write_run("simulated", "cfo", 0, TRIALS, learner="dnn"), "spec", clock="virtual")

    found = comparable(load(tmp_path / "results").runs)

    assert sorted((one.learner, one.task) for one in found.runs) == [
        ("dnn", "simulated"),
        ("xgboost", "t"),
        ("xgboost", "u"),
    ]
    assert found.warnings == [
        "xgboost: 1 run on the virtual clock left out (simulated), as 2 are on the wall clock; give them a "
        "report of their own with --task"
    ]


def with_references(write_run: Any, **settings: Any) -> None:
    """Two methods on two folds, and both references, with these settings, on four."""
    for fold in range(4):
        for method in ("cfo", "rs")[: 2 * (fold < 2)]:
            write_run("t", method, fold, TRIALS)
        for method in ("constant", "tuned-rf"):
            change(write_run("t", method, fold, TRIALS), "spec", **settings)


@pytest.mark.parametrize("folds", [2, 4])
def test_references_need_no_budget_of_the_methods_and_have_no_say_in_it(
    write_run: Any, tmp_path: Path, folds: int
) -> None:
    with_references(write_run, budget_seconds=2.0)
    digests = [one for one in load(tmp_path / "results").runs if one.fold < folds]

    found = comparable(digests)

    assert found.warnings == [] and found.runs == digests
    assert score_task(found.runs).budget_seconds == 100.0
    # Neither are they left out where longer budgets are asked for.
    assert comparable(digests, 50.0) == found


@pytest.mark.parametrize(
    "settings", [{"validation": "holdout"}, {"n_folds": 5}, {"clock": "virtual"}, {"threads": 2}]
)
def test_references_with_other_settings_are_left_out_however_many_they_are(
    write_run: Any, tmp_path: Path, settings: dict[str, Any]
) -> None:
    with_references(write_run, **settings)

    found = comparable(load(tmp_path / "results").runs)

    assert sorted({one.method for one in found.runs}) == ["cfo", "rs"]
    (line,) = found.warnings
    assert "8 runs left out, constant fold 0 seed 0, " in line


def test_references_on_another_clock_do_not_choose_the_clock_of_the_learner(
    write_run: Any, tmp_path: Path
) -> None:
    write_run("t", "cfo", 0, TRIALS)
    for fold in (0, 1):
        change(write_run("u", "constant", fold, TRIALS), "spec", clock="virtual")

    found = comparable(load(tmp_path / "results").runs)

    assert [(one.task, one.method) for one in found.runs] == [("t", "cfo")]


def test_references_of_a_task_without_comparable_methods_are_left_out_with_them(
    write_run: Any, tmp_path: Path
) -> None:
    for method in ("cfo", "constant"):
        write_run("u", method, 0, TRIALS)
        write_run("t", method, 0, TRIALS)
    change(write_run("t", "rs", 0, TRIALS), "spec", budget_seconds=60.0)

    found = comparable(load(tmp_path / "results").runs)

    assert [(one.task, one.method) for one in found.runs] == [("u", "cfo"), ("u", "constant")]


def test_references_whose_methods_are_all_left_out_are_not_reported(write_run: Any, tmp_path: Path) -> None:
    for method in ("cfo", "constant"):
        write_run("t", method, 0, TRIALS)

    found = comparable(load(tmp_path / "results").runs, budget_seconds=120.0)

    assert found.runs == [] and found.warnings[0].startswith("1 of 2 runs left out, as their budget")


def test_references_alone_are_comparable(write_run: Any, tmp_path: Path) -> None:
    for fold, method in enumerate(("constant", "tuned-rf")):
        write_run("t", method, fold, TRIALS)

    assert len(comparable(load(tmp_path / "results").runs).runs) == 2


def test_a_failed_run_has_no_result_and_those_without_an_end_are_left_out(
    write_run: Any, tmp_path: Path
) -> None:
    for fold, reason in enumerate((EndReason.BUDGET, EndReason.ERROR, EndReason.INTERRUPTED, None)):
        write_run("t", "cfo", fold, TRIALS, reason=reason)

    found = comparable(load(tmp_path / "results").runs)

    assert [(one.fold, one.incumbents.losses) for one in found.runs] == [(0, [0.4, 0.2]), (1, [])]
    assert [line.split(", the first")[0] for line in found.warnings] == [
        "1 failed run counts as having no result",
        "1 interrupted run left out",
        "1 unfinished run left out",
    ]
    assert "it broke" in found.warnings[0]


def test_runs_of_which_all_failed_are_not_compared(write_run: Any, tmp_path: Path) -> None:
    write_run("t", "cfo", 0, TRIALS, reason=EndReason.ERROR)

    assert comparable(load(tmp_path / "results").runs).runs == []


def test_tasks_may_have_budgets_of_their_own_but_it_is_said(write_run: Any, tmp_path: Path) -> None:
    write_run("short", "cfo", 0, TRIALS)
    change(write_run("long", "cfo", 0, TRIALS), "spec", budget_seconds=400.0)

    found = comparable(load(tmp_path / "results").runs)

    assert len(found.runs) == 2
    assert found.warnings == ["tasks have different budgets: 100, 400 s"]


def test_runs_with_a_shorter_budget_than_asked_for_are_left_out_and_named(
    write_run: Any, tmp_path: Path
) -> None:
    write_run("t", "cfo", 0, TRIALS)
    change(write_run("t", "rs", 3, TRIALS), "spec", budget_seconds=2.0)

    found = comparable(load(tmp_path / "results").runs, budget_seconds=100.0)

    assert [one.method for one in found.runs] == ["cfo"]
    assert found.warnings == [
        "1 of 2 runs left out, as their budget is below 100 s: the first is t rs fold 3, with 2 s"
    ]


Ran = Callable[..., Run]


@pytest.fixture
def ran(write_run: Any) -> Ran:
    """A run on a machine with these figures, `end` those of its end; 4 processors unless told otherwise."""

    def write(
        method: str = "cfo",
        fold: int = 0,
        task: str = "t",
        clock: str = "wall",
        end: dict[str, Any] | None = None,
        resumed_on: str | None = None,
        trial: dict[str, Any] | None = None,
        **machine: Any,
    ) -> Run:
        path: Path = write_run(task, method, fold, [(1.0, 0.4, 0.5)])
        header, first, last = map(orjson.loads, path.read_bytes().splitlines())
        rest = [{**first, **(trial or {})}]
        header["machine"] = {
            "node": "n1",
            "cpu": "a processor",
            "cores": 2,
            "cpus": 4,
            "load": 1.0,
            **machine,
        }
        header["spec"]["clock"] = clock
        if resumed_on:
            rest.append(
                {"kind": "resume", "elapsed": 1.0, "trials": 1, "utc": "", "why": "", "node": resumed_on}
            )
        path.write_bytes(b"".join(map(encode, [header, *rest, {**last, **(end or {})}])))
        found = read_run(path)
        assert found is not None
        return found

    return write


@pytest.mark.parametrize("clock", ["wall", "virtual"])
def test_runs_that_were_paused_are_named(ran: Ran, clock: str) -> None:
    pauses = [{"at": 1.5, "seconds": 60.0}, {"at": 2.5, "seconds": 6.0}]
    runs = [ran("cfo", clock=clock, end={"pauses": pauses}), ran("rs", clock=clock, end={"pauses": []})]
    [line] = unequal_conditions(runs)
    assert line == "1 of 2 runs were paused (for up to 66 s, which are not on their clocks): t cfo fold 0"


@pytest.mark.parametrize(
    ("cpu_seconds", "said"),
    [
        ({"cpu_seconds": 0.95}, "the learner used 1.9, was given 1"),
        ({"method_cpu_seconds": 1.25}, "the method used 2.5, was given 1"),
        ({"cpu_seconds": 0.6, "method_cpu_seconds": 0.6}, None),
    ],
)
def test_runs_that_used_more_threads_than_they_were_given_are_named(
    ran: Ran, cpu_seconds: dict[str, float], said: str | None
) -> None:
    """The trials take half a second each, and so do ask and tell together."""
    runs = [ran("cfo", trial=cpu_seconds), ran("rs")]
    expected = f"1 of 2 runs used more threads than they were given: {said}: t cfo fold 0"
    assert unequal_conditions(runs) == ([expected] if said else [])


def test_nothing_is_said_of_quiet_machines(ran: Ran) -> None:
    # Two may use 2 of 4 processors, and four runs side by side and their driver are no crowd.
    quiet = [
        ran("cfo", load=4.9, steal_percent=0.1, end={"load": 5.0, "steal_percent": 4.9}),
        ran("rs", load=0.0, steal_percent=None, end={"load": None, "steal_percent": None}),
    ]

    assert unequal_conditions(quiet) == []


def test_traces_of_older_versions_are_read(write_run: Any) -> None:
    found = read_run(write_run("t", "cfo", 0, [(1.0, 0.4, 0.5)]))

    assert found is not None
    assert found.nodes == []
    assert unequal_conditions([found]) == []


def test_runs_on_a_crowded_machine_are_counted_and_named(ran: Ran) -> None:
    runs = [
        ran("cfo", 0, load=5.5),
        ran("cfo", 1, end={"load": 12.25}),
        ran("rs", 0),
        ran("rs", 1, load=30.0, cpus=64),
    ]

    (line,) = unequal_conditions(runs)

    assert line.startswith("2 of 4 runs shared a busy machine")
    assert "load up to 12.2 on 4 processors" in line and line.endswith(": t cfo fold 0, 1")


def test_stolen_time_is_told_by_the_run_s_own_figure_where_there_is_one(ran: Ran) -> None:
    runs = [
        ran("cfo", 0, steal_percent=20.0, end={"steal_percent": 0.5}),
        ran("cfo", 1, steal_percent=0.0, end={"steal_percent": 31.0}),
        ran("rs", 0, steal_percent=8.0),
    ]

    (line,) = unequal_conditions(runs)

    assert line.startswith("2 of 3 runs lost time") and "up to 31 %" in line
    assert line.endswith(": t cfo fold 1; t rs fold 0")


def test_only_tasks_whose_runs_are_on_different_processors_are_told(ran: Ran) -> None:
    runs = [
        ran("cfo", task="t", node="n1", cpu="old"),
        ran("rs", task="t", node="n2", cpu="new"),
        ran("cfo", task="u", node="n1", cpu="old"),
        ran("rs", task="u", node="n1", cpu="old"),
    ]

    assert unequal_conditions(runs[2:]) == []
    (line,) = unequal_conditions(runs)
    assert line == (
        "1 of 2 tasks have runs on different processors, which may differ in speed: "
        "old (1), new (1), the first on t"
    )


def test_several_nodes_of_one_kind_are_told_a_resumed_run_s_too(ran: Ran) -> None:
    (line,) = unequal_conditions([ran("cfo", node="n1", resumed_on="n2"), ran("rs", node="n1")])

    assert "on different machines of one kind" in line and "n1 (2), n2 (1)" in line


def test_virtual_seconds_are_the_same_everywhere(ran: Ran) -> None:
    runs = [
        ran("cfo", clock="virtual", cpu="old", load=99.0, steal_percent=50.0),
        ran("rs", clock="virtual", cpu="new"),
    ]

    assert unequal_conditions(runs) == []


def test_many_runs_are_named_by_the_first_few(ran: Ran) -> None:
    runs = [ran("cfo", fold, task=f"t{task}", load=9.0) for task in range(8) for fold in range(2)]

    (line,) = unequal_conditions(runs)

    assert line.startswith("16 of 16 runs") and line.endswith("t4 cfo fold 0, 1; and 6 more")
