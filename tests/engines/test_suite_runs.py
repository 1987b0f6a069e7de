"""Suites from Python: what `cfo-bench run` does, as a function with exceptions and a callback."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from cfo_bench import Suite, load_results, run_suite
from cfo_bench.engines.suite_runs import (
    Event,
    Prepared,
    Preparing,
    RunFinished,
    RunsStarted,
    SuiteRuns,
    runs_of,
)
from cfo_bench.errors import OptionError, TraceError, UnknownNameError, UserError
from cfo_bench.records import RunStatus
from cfo_bench.results.run import read_run
from cfo_bench.suite.choices import Choice
from tests.helpers.program import ROOT


def virtual(results: Path, **changes: object) -> Suite:
    """Two methods on two folds, without real seconds."""
    suite = Suite(
        learners=["synthetic-5d"],
        tasks=["synthetic-1k"],
        methods=["cfo", "rs"],
        folds="0-1",
        budget_seconds=1e6,
        max_trials=10,
        clock="virtual",
        results=results,
    )
    return replace(suite, **changes)  # type: ignore[arg-type]


def test_a_suite_is_run_and_recognised_as_done(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    suite = virtual(tmp_path)

    first, second = run_suite(suite), run_suite(suite)

    assert [verdict.outcome for verdict in first.verdicts] == [RunStatus.DONE] * 4
    assert [verdict.outcome for verdict in second.verdicts] == [RunStatus.ALREADY_DONE] * 4
    assert first.exit_code == 0 and not first.failures
    assert {spec.method for spec in first.runs.specs} == {"cfo", "rs"}
    assert len(second.traces) == 4
    assert capfd.readouterr() == ("", "")


def test_runs_that_are_only_looked_at_import_no_file_and_can_not_be_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("raise RuntimeError('imported')")
    method = Choice(f"{file}:Mine", {"step": 2, "size": None})
    suite = virtual(tmp_path / "results", methods=("rs", method), folds="0", engine=f"{file}:Engine")

    runs = runs_of(suite, import_files=False)
    runs.check()

    assert [
        command.partition("--max-trials")[2].partition(" --results ")[0] for command in runs.commands()
    ] == [
        " 10 --clock virtual",
        " 10 --clock virtual --option step=2 --option size=null",
    ]
    assert runs.price() == f"2 runs; only the engine {file}:Engine knows what they need"
    with pytest.raises(UserError, match="can only be listed"):
        run_suite(runs)
    with pytest.raises(UserError, match="can't be imported"):
        runs_of(suite)
    assert not (tmp_path / "results").exists()


def test_a_suite_on_other_data_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    def suite(shift: int) -> SuiteRuns:
        (tmp_path / "mine.csv").write_text(
            "a,y\n" + "".join(f"{n + shift},{n % 2}\n" for n in range(40)), encoding="utf-8"
        )
        wanted = virtual(tmp_path / "out", learners=["knn"], tasks=(), methods=("rs",), clock="wall")
        return runs_of(replace(wanted, n_folds=2, max_trials=1, data_file=tmp_path / "mine.csv", target="y"))

    assert run_suite(suite(0)).exit_code == 0
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    with pytest.raises(
        TraceError, match=r"fold-0_seed-0.jsonl belongs to another run \(.*\), and 1 more: use"
    ):
        run_suite(suite(1))
    assert before == {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    again = run_suite(suite(0))
    assert [verdict.outcome for verdict in again.verdicts] == [RunStatus.ALREADY_DONE] * 2
    assert run_suite(suite(1), force=True).exit_code == 0


def test_data_of_a_task_whose_runs_are_all_done_is_not_loaded_again(tmp_path: Path) -> None:
    suite = virtual(tmp_path / "out", learners=["knn"], tasks=["iris"], methods=("rs",), clock="wall")
    suite = replace(suite, folds="0", max_trials=1)
    first: list[Event] = []
    second: list[Event] = []

    run_suite(suite, on_event=first.append)
    again = run_suite(suite, on_event=second.append)

    assert [verdict.outcome for verdict in again.verdicts] == [RunStatus.ALREADY_DONE]
    assert Preparing("iris") in first and Preparing("iris") not in second


def test_forced_runs_are_run_again(tmp_path: Path) -> None:
    suite = virtual(tmp_path, methods=(Choice("rs"),), folds="0")
    run_suite(suite)

    assert run_suite(suite, force=True).verdicts[0].outcome is RunStatus.DONE


def test_events_say_what_happens_in_order(tmp_path: Path) -> None:
    events: list[Event] = []

    run_suite(virtual(tmp_path), on_event=events.append)

    kinds = [type(event) for event in events]
    assert kinds[:3] == [Preparing, Prepared, RunsStarted]
    [started] = [event for event in events if isinstance(event, RunsStarted)]
    assert len(started.jobs) == 4
    assert {task: facts.title for task, facts in started.metrics.items()} == {"synthetic-1k": "r2"}
    finished = [event for event in events if isinstance(event, RunFinished)]
    assert {event.job.trace_path for event in finished} == {job.trace_path for job in started.jobs}


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"methods": (Choice("cfoo"),)}, UnknownNameError, "unknown method 'cfoo'"),
        ({"methods": (Choice("cfo", {"delta": 1}),)}, OptionError, "no option 'delta'"),
        ({"methods": ()}, UserError, "no methods"),
        ({"budget_seconds": None}, UserError, "no budget_seconds"),
        ({"tasks": ()}, UserError, "no task: give --task"),
        ({"engine": "dusk"}, UnknownNameError, "unknown engine 'dusk'"),
        ({"clock": "wall"}, UserError, "its seconds are virtual: leave --clock out"),
    ],
)
def test_a_mistake_is_an_exception_and_nothing_is_written(
    tmp_path: Path, changes: dict[str, object], error: type[Exception], words: str
) -> None:
    results = tmp_path / "results"

    with pytest.raises(error, match=words):
        run_suite(virtual(results, **changes))

    assert not results.exists()


def test_a_run_that_fails_is_told_and_stops_no_other(tmp_path: Path) -> None:
    broken = f"{ROOT / 'tests' / 'plugins' / 'methods.py'}:RaisesInAsk"

    outcome = run_suite(virtual(tmp_path, methods=(Choice(broken), Choice("rs")), folds="0"))

    assert outcome.exit_code == 1
    [(spec, why)] = outcome.failures
    assert spec.method == broken and "the method failed in ask" in why
    assert [verdict.outcome for verdict in outcome.verdicts] == [RunStatus.FAILED, RunStatus.DONE]


def test_the_name_of_a_shipped_suite_or_a_file_will_do(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("tasks: iris\nmethods: rs\nbudget: 5\nfolds: 0-2\n")

    assert len(runs_of(file).specs) == 3
    assert runs_of("smoke").specs


def test_runs_are_priced_and_narrowed_without_running_any(tmp_path: Path) -> None:
    suite = virtual(tmp_path / "results")
    every = runs_of(suite)

    part = runs_of(suite, shard=(1, 2))
    one = runs_of(suite, only=["synthetic-5d/synthetic-1k/rs/fold-1_seed-0"])

    assert [spec.method for spec in part.specs] == ["cfo", "cfo"]
    assert [(spec.method, spec.fold) for spec in one.specs] == [("rs", 1)]
    assert every.price().startswith("4 runs, ")
    assert not (tmp_path / "results").exists()


def test_a_thread_that_is_not_the_main_one_can_run_a_suite(tmp_path: Path) -> None:
    """As a notebook's or a server's may be: no signal handler can be installed there."""
    found: list[object] = []

    def work() -> None:
        try:
            found.append(run_suite(virtual(tmp_path, folds="0")).exit_code)
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert found == [0]


def test_a_script_needs_no_guard_and_keeps_its_environment(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os\n"
        "print('begins')\n"
        "from cfo_bench import Suite, run_suite\n"
        "suite = Suite(learners=['synthetic-5d'], tasks=['synthetic-1k'], methods=['rs'], folds='0',\n"
        "              budget_seconds=1e6, max_trials=5, clock='virtual', results='out')\n"
        "print(run_suite(suite).exit_code)\n"
        "print(os.environ.get('OMP_NUM_THREADS'))\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}

    answer = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
    )

    assert (answer.stdout.split(), answer.stderr) == (["begins", "0", "None"], "")
    [path] = (tmp_path / "out").rglob("*.jsonl")
    run = read_run(path)
    assert run is not None and len(run.trials) == 5


def test_outcome_and_folder_have_the_same_frames(tmp_path: Path) -> None:
    outcome = run_suite(virtual(tmp_path))

    assert outcome.frames().runs.equals(load_results(tmp_path).runs)
