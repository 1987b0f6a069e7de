"""`cfo-bench run` from end to end."""

from __future__ import annotations

import json
import random
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.optimizers import METHODS
from tests.helpers import terminals
from tests.helpers.terminals import shown, terminal

Program = Callable[..., subprocess.CompletedProcess[str]]

VIRTUAL = "--learner synthetic --clock virtual --task synthetic-30k"


def succeeded(answer: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    assert answer.returncode == 0, answer.stderr
    return answer


def traces(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of every trace in a folder, by its path."""
    return {
        path.relative_to(folder).as_posix(): [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(folder.rglob("*.jsonl"))
    }


# --- real data --------------------------------------------------------------------------------


# All groups of methods, in two commands: each has to load the packages of its methods.
HALVES = [("paper", "references"), ("peers", "multi-fidelity", "plug-ins")]


@pytest.mark.parametrize("groups", [HALVES[0], pytest.param(HALVES[1], marks=pytest.mark.slow)])
@pytest.mark.slow
def test_every_method_runs_on_iris(program: Program, tmp_path: Path, groups: tuple[str, ...]) -> None:
    rows_here = {name: row for name, row in METHODS.rows().items() if row.missing is None}
    names = [name for name, row in rows_here.items() if row.group in groups]
    assert {row.group for row in rows_here.values()} <= {group for half in HALVES for group in half}
    chosen = [word for name in names for word in ("--method", name)]

    answer = succeeded(
        program("run --task iris --budget 30 --max-trials 3 --folds 0 --jobs 2 --json", *chosen)
    )

    rows = {row["method"]: row for row in json.loads(answer.stdout)}
    assert list(rows) == names
    for name, row in rows.items():
        assert row["folds"] == 1 and row["unfinished"] == 0, name
        assert row["metric"] == "log_loss" and row["score_mean"] is not None, name
    assert set(traces(tmp_path / "results")) == {f"xgboost/iris/{name}/fold-0_seed-0.jsonl" for name in names}


def test_a_file_of_ones_own_runs_from_another_folder(program: Program, tmp_path: Path) -> None:
    """Text columns, dates and missing values come as they are."""
    draw = random.Random(1)
    rows = ["amount,colour,day,empty,bought"]
    for i in range(120):
        amount = "" if i % 7 == 0 else f"{draw.gauss(0, 1):.3f}"
        rows.append(
            f"{amount},{draw.choice(['red', 'blue', ''])},2024-0{1 + i % 9}-11,,{'no' if i % 3 else 'yes'}"
        )
    (tmp_path / "shop.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    elsewhere = tmp_path / "a folder"
    elsewhere.mkdir()

    line = "run --data ../shop.csv --target bought --method rs --budget 30 --max-trials 3 --folds 0,4"
    succeeded(program(line, "--n-folds", "5", cwd=elsewhere))

    found = traces(elsewhere / "results")
    assert list(found) == [f"xgboost/shop/rs/fold-{fold}_seed-0.jsonl" for fold in (0, 4)]
    header, *trials, end = found["xgboost/shop/rs/fold-0_seed-0.jsonl"]
    assert (header["problem"], header["metric"], header["data"]["rows"]) == ("binary", "auc", 120)
    assert [trial["status"] for trial in trials] == ["ok"] * 3
    assert end["reason"] == "max_trials"


@pytest.mark.slow
def test_a_folder_of_data_sets_is_given_by_option_or_environment(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "index.csv").write_text("name,file,target,problem\nramp,ramp.csv,y,regression\n")
    (folder / "ramp.csv").write_text("x,y\n" + "".join(f"{i},{i * 0.5}\n" for i in range(60)))
    line = "run --task ramp --method rs --budget 30 --max-trials 1 --folds 0 --results"

    succeeded(program(line, "by-option", "--data-dir", "data"))
    succeeded(program(line, "by-environment", CFO_BENCH_DATA=str(folder)))

    by_option, by_environment = (
        traces(tmp_path / name)["xgboost/ramp/rs/fold-0_seed-0.jsonl"]
        for name in ("by-option", "by-environment")
    )
    assert by_option[0]["data"] == by_environment[0]["data"]
    assert by_option[1]["loss"] == by_environment[1]["loss"]
    assert shlex.split(by_option[0]["command"])[-2:] == ["--data-dir", str(folder)]


# --- the virtual clock ------------------------------------------------------------------------


def test_hours_of_virtual_time_repeat_byte_for_byte(program: Program, tmp_path: Path) -> None:
    line = f"run {VIRTUAL} --method cfo --method rs --budget 20000 --max-trials 400 --folds 0 --results"

    for results in ("once", "again"):
        succeeded(program(line, results))

    once, again = (
        [path.read_bytes().partition(b"\n")[2] for path in sorted((tmp_path / results).rglob("*.jsonl"))]
        for results in ("once", "again")
    )
    assert len(once) == 2 and all(body.count(b"\n") > 100 for body in once)
    assert once == again
    ends = [json.loads(body.splitlines()[-1]) for body in once]
    assert max(end["elapsed"] for end in ends) > 3600


def test_the_command_in_a_header_does_the_run_again(program: Program, tmp_path: Path) -> None:
    options = ["--option", "delta_init=1.5", "--option", "redraw=true", "--option", "n_threshold=2d"]
    succeeded(
        program(
            f"run {VIRTUAL} --method cfo --budget 0.123456789 --seed 7 --n-folds 4 --folds 3 --parallel 2",
            *options,
        )
    )
    ((header, *first),) = traces(tmp_path / "results").values()
    command = shlex.split(header["command"])

    succeeded(program("", *command[1:], "--results", "again"))

    ((repeated, *second),) = traces(tmp_path / "again").values()
    assert command[0] == "cfo-bench"
    assert repeated["spec"] == header["spec"]
    assert second == first


# --- what is run, and what is not -------------------------------------------------------------


def test_the_product_of_tasks_methods_and_folds_is_run_once_each(program: Program, tmp_path: Path) -> None:
    twice = ["--task", "synthetic-1k", "--task", "synthetic-1k", "--method", "rs", "--method", "rs"]
    learner = ["--learner", "synthetic-5d", "--clock", "virtual", "--task", "synthetic-30k"]

    answer = succeeded(
        program("run --method cfo --budget 1 --folds 0,2-3 --jobs 3 --results out", *twice, *learner)
    )

    tasks, methods, folds = ("synthetic-1k", "synthetic-30k"), ("cfo", "rs"), (0, 2, 3)
    assert set(traces(tmp_path / "out")) == {
        f"synthetic-5d/{task}/{method}/fold-{fold}_seed-0.jsonl"
        for task in tasks
        for method in methods
        for fold in folds
    }
    assert "[12/12]" in answer.stderr and "[13/" not in answer.stderr


def test_a_finished_run_is_not_run_again_unless_forced(program: Program, tmp_path: Path) -> None:
    line = f"run {VIRTUAL} --method rs --budget 1 --folds 0"
    succeeded(program(line))
    (path,) = tmp_path.rglob("*.jsonl")
    before = path.read_bytes()

    again = succeeded(program(line))
    untouched = path.read_bytes()
    forced = succeeded(program(line, "--force"))

    assert "rs fold 0: already done" in again.stderr
    assert untouched == before
    assert again.stdout == forced.stdout  # the table, of what was there and of what was made anew
    assert "rs fold 0: done" in forced.stderr
    assert path.read_bytes().partition(b"\n")[2] == before.partition(b"\n")[2]


def test_a_dry_run_prints_the_commands_and_the_hours_and_runs_nothing(
    program: Program, tmp_path: Path
) -> None:
    (tmp_path / "never_read.csv").write_text("no data set at all", encoding="utf-8")

    line = "run --data never_read.csv --target y --method cfo --method rs --budget 3600 --folds 0-2 --jobs 4"
    answer = succeeded(program(line, "--option", "cfo.scale=ln", "--dry-run"))

    commands = answer.stdout.splitlines()
    assert len(commands) == 6
    file = shlex.quote(str(tmp_path / "never_read.csv"))
    assert commands[0] == (
        f"cfo-bench run --data {file} --target y --method cfo --budget 3600 --folds 0 --option scale=ln "
        "--results results"
    )
    first, second = answer.stderr.splitlines()
    assert first == "6 runs, 6 h 00 min of budget in all, 1 h 30 min with --jobs 4"
    assert second.startswith("4 at a time: 4 cores, ") and "a fair share of this machine" in second
    assert not (tmp_path / "results").exists()


def test_a_dry_run_on_a_terminal_prints_some_commands_and_that_the_time_is_virtual(tmp_path: Path) -> None:
    words = "run --learner synthetic --task synthetic-30k --method rs --budget 3600 --n-folds 40 --dry-run"

    lines = terminals.on_a_terminal(200, "-m", "cfo_bench", *words.split(), "--results", tmp_path)

    *commands, more, price, _ = lines
    assert len(commands) == 10 and all(line.startswith("cfo-bench run --task") for line in commands)
    assert more == "and 30 more commands: to see all of them, append | less"
    assert price.startswith("40 runs, 40 h 00 min of virtual time in all; it is recorded or computed")


def test_a_method_that_fails_ends_its_own_runs_and_no_other(program: Program, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "class Bad:\n"
        "    def __init__(self, space, start, seed): ...\n"
        "    def ask(self): raise ValueError('out of ideas')\n"
        "    def tell(self, trial, result): ...\n"
    )

    answer = program(f"run {VIRTUAL} --method bad.py:Bad --method rs --budget 1 --folds 0-1 --json -q")

    assert answer.returncode == 1
    rows = {row["method"]: row for row in json.loads(answer.stdout)}
    assert (rows["Bad"]["unfinished"], rows["Bad"]["score_mean"]) == (2, None)
    assert rows["rs"]["unfinished"] == 0
    (line,) = answer.stderr.splitlines()  # once, though it is true of both folds
    assert line == "cfo-bench: synthetic-30k Bad fold 0: the method failed in ask: ValueError: out of ideas"


# --- what is said, and where ------------------------------------------------------------------


def test_json_is_alone_on_stdout(program: Program) -> None:
    line = f"run {VIRTUAL} --method rs --budget 1 --folds 0 --json"

    loud = succeeded(program(line))
    quiet = succeeded(program(line, "--quiet"))

    (row,) = json.loads(loud.stdout)
    assert (row["learner"], row["task"], row["method"], row["folds"]) == (
        "synthetic",
        "synthetic-30k",
        "rs",
        1,
    )
    assert "validation score" in loud.stderr and "[1/1] synthetic-30k rs fold 0: done" in loud.stderr
    assert json.loads(quiet.stdout) == [row]
    assert quiet.stderr == ""


def test_quiet_prints_the_table_alone(program: Program) -> None:
    answer = succeeded(program(f"run {VIRTUAL} --method rs --method cfo --budget 1 --folds 0 -q"))

    heading, _, *rows = answer.stdout.splitlines()
    columns = ["task", "method", "folds", "metric", "validation score", "time to best", "trials", "overhead"]
    assert heading.split() == " ".join(columns).split()
    assert [row.split()[:5] for row in rows] == [
        ["synthetic-30k", "rs", "1", "r2", "↑"],
        ["synthetic-30k", "cfo", "1", "r2", "↑"],
    ]
    assert answer.stderr == ""


def test_plain_lines_count_the_runs_and_say_where_the_traces_are(program: Program) -> None:
    answer = succeeded(
        program(f"run {VIRTUAL} --method rs --budget 1 --max-trials 1 --folds 0-1 --results 'my traces'")
    )

    first, second, *rest = answer.stderr.splitlines()
    assert first.startswith("[1/2, ") and "to go] synthetic-30k rs fold 0: done, 1 trial, best loss " in first
    assert second.startswith("[2/2] synthetic-30k rs fold 1: done, 1 trial, best loss ")
    assert rest[-1] == "traces in my traces"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a pseudo-terminal as Linux has it")
def test_a_terminal_shows_the_running_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    text, table = on_a_terminal(
        [
            "run",
            "--task",
            "wine",
            "--method",
            "cfo",
            "--method",
            "rs",
            "--budget",
            "2",
            "--folds",
            "0",
            "-j",
            "2",
        ],
        tmp_path,
        {**environment, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
    )

    assert "reading the data" in text
    assert "0 of 2" in text and "to go" in text
    for name in ("wine cfo fold 0", "wine rs fold 0"):
        assert name in text
    assert "of 2 s" in text and " trials" in text and "best loss 0." in text
    assert re.search(r"\[1/2[^]]*\] wine (cfo|rs) fold 0: done, ", text)  # it stays above the bars
    assert [line.split()[:2] for line in table.splitlines()[2:]] == [["wine", "cfo"], ["wine", "rs"]]


def on_a_terminal(arguments: list[str], cwd: Path, environment: dict[str, str]) -> tuple[str, str]:
    """What the program draws on a terminal as stderr, and what it prints to a pipe as stdout."""
    with (
        terminal() as (ours, theirs),
        subprocess.Popen(
            [sys.executable, "-m", "cfo_bench", *arguments],
            cwd=cwd,
            env=environment,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
        ) as process,
    ):
        drawn = shown(ours, theirs)
        assert process.stdout is not None
        printed = process.stdout.read()
    assert process.returncode == 0, drawn
    return drawn, printed


def test_a_trace_of_an_older_version_is_resumed_and_read(program: Program, tmp_path: Path) -> None:
    """Until 0.1 the number of trials at once was called `workers`, in the spec and among the options."""
    line = "run --task synthetic-1k --learner synthetic-5d --clock virtual --method rs --budget 1e6 --folds 0"
    assert program(f"{line} --max-trials 20").returncode == 0
    [path] = (tmp_path / "results").rglob("*.jsonl")
    whole = path.read_text().splitlines(keepends=True)
    old = [whole[0].replace('"parallel":', '"workers":'), *whole[1:8]]
    assert old[0].count('"workers":') == 2
    path.write_text("".join(old))

    answer = program(f"{line} --max-trials 20")

    assert answer.returncode == 0, answer.stderr
    trials = [one for one in path.read_text().splitlines(keepends=True) if '"kind":"trial"' in one]
    assert trials == whole[1:-1]
    assert program("status results").returncode == program("report results").returncode == 0


def test_a_run_forked_from_a_server_with_torch_loaded_trains_from_the_first_moment_on(
    program: Program, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    limits = ["--budget", "60", "--max-trials", "2", "--folds", "0", "--learner-option", "max_epochs=2"]
    done = program("run", "--learner", "dnn", "--task", "iris", "--method", "rs", *limits, "-q")
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("results/dnn/iris/rs/*.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["status"] for line in lines if line["kind"] == "trial"] == ["ok", "ok"]
    assert lines[0]["spec"]["learner_options"]["patience"] == 10
    assert lines[1]["fit_seconds"] < 1.0  # what torch loads and sets up at its first use takes longer


@pytest.mark.parametrize(
    ("arguments", "is_known"),
    [
        ("--task wine --method rs --budget 60 --max-trials 2", True),
        # The supervisor writes the end of a run that is cut off.
        ("--task wine --method {plugins}/methods.py:NeverTells --budget 0.5", True),
        (
            "--task synthetic-1k --learner synthetic --clock virtual --method rs --budget 9 --max-trials 2",
            False,
        ),
    ],
)
def test_a_trace_ends_with_the_machine_s_figures_but_on_the_virtual_clock(
    program: Program, tmp_path: Path, arguments: str, is_known: bool
) -> None:
    plugins = Path(__file__).parents[1] / "plugins"

    program(f"run {arguments.format(plugins=plugins)} --folds 0 -q")

    (path,) = tmp_path.rglob("*.jsonl")
    header, *_, end = map(json.loads, path.read_bytes().splitlines())
    assert header["machine"].keys() >= {"node", "cpu", "cpus", "load", "load_5min", "steal_percent"}
    assert (end["load"] is not None, end["steal_percent"] is not None) == (is_known, is_known)
