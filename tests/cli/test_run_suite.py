"""`cfo-bench run SUITE`: a file says what to run, and the command line has the last word."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cfo_bench.cli.main import cli
from cfo_bench.engines import engine_of
from cfo_bench.errors import CfoBenchError, UserError
from cfo_bench.report.numbers.paper_tables import BUDGETS, key, printed
from cfo_bench.suite.chosen_options import learner_options, method_options
from cfo_bench.suite.expansion import data_of, specs_of
from cfo_bench.suite.file import shipped
from cfo_bench.suite.model import DEFAULTS, Cluster, Suite
from cfo_bench.terminal.command_options import suite_of

Program = Callable[..., subprocess.CompletedProcess[str]]

SUITE = """\
learners: [synthetic, synthetic-5d]
tasks: [synthetic-1k, synthetic-30k]
methods:
  - rs
  - cfo: {scale: ln}
folds: 0-1
seeds: [0, 3]
budget: 1h
max_trials: 3
clock: virtual
results: out
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def ids(answer: subprocess.CompletedProcess[str]) -> list[str]:
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


def headers(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        path.relative_to(folder).as_posix().removesuffix(".jsonl"): json.loads(
            path.read_text().partition("\n")[0]
        )
        for path in sorted(folder.rglob("*.jsonl"))
    }


# --- from end to end --------------------------------------------------------------------------


def test_every_run_of_a_suite_is_run_and_a_second_time_none(
    program: Program, suite: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    listed = ids(program("run ../suite.yaml --list", cwd=elsewhere))
    first = program("run ../suite.yaml --json -q -j 2", cwd=elsewhere)
    again = program("run ../suite.yaml", cwd=elsewhere)

    assert len(listed) == len(set(listed)) == 2 * 2 * 2 * 2 * 2
    assert first.returncode == 0, first.stderr
    found = headers(tmp_path / "out")  # beside the file, not where we are
    assert sorted(found) == sorted(listed)
    assert {
        (header["spec"]["budget_seconds"], header["spec"]["max_trials"]) for header in found.values()
    } == {(3600.0, 3)}
    assert {header["spec"]["options"].get("scale") for header in found.values()} == {None, "ln"}
    assert [
        (row["learner"], row["task"], row["method"], row["folds"], row["runs"])
        for row in json.loads(first.stdout)
    ] == [
        (learner, task, method, 2, 4)
        for learner in ("synthetic", "synthetic-5d")
        for task in ("synthetic-1k", "synthetic-30k")
        for method in ("rs", "cfo")
    ]
    assert again.stderr.count("already done") == len(listed)
    assert "learner" in again.stdout.splitlines()[0]


@pytest.mark.slow
def test_the_smoke_suite_runs_from_any_folder(program: Program, tmp_path: Path) -> None:
    pytest.importorskip("hpbandster")

    answer = program("run smoke --budget 20 --max-trials 1 --folds 0 -q --json")

    assert answer.returncode == 0, answer.stderr
    rows = json.loads(answer.stdout)
    assert {row["method"] for row in rows} == {"cfo", "cfo-0", "rs", "bohb"}
    assert {row["task"] for row in rows} == {"breast_cancer", "wine", "diabetes"}
    assert all(row["unfinished"] == 0 and row["score_mean"] is not None for row in rows)
    assert len(headers(tmp_path / "results")) == 12


@pytest.mark.parametrize("name", sorted(shipped().keys() - {"tables", "paper-yahpo"}))
def test_a_shipped_suite_costs_what_it_says_on_top(name: str) -> None:
    if name == "evidence-early":
        pytest.importorskip("torch")  # for optuna-gp
    found = asked(shipped()[name], "--offline")
    methods = method_options(found.methods, {}, 1)
    specs = specs_of(found, learner_options(found.learners, {}), methods, data_of(found, True))

    hours, at_once = engine_of(found).price(specs).splitlines()

    lines = shipped()[name].read_text().splitlines()
    comment = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    in_all = hours.partition(" runs, ")[2].partition(" of budget")[0].removesuffix(" 00 min")
    assert f"Takes {len(specs)} runs of " in comment and f"{in_all} of" in comment
    jobs, cores, each_mb = map(int, re.findall(r"(\d+) at a time: (\d+) cores?, \d+ × (\d+) MB", at_once)[0])
    assert jobs == cores == found.jobs
    assert ("one core, each with" if cores == 1 else f"{cores} cores and {jobs} ×") in comment
    assert f" {each_mb // 1024} GB of memory" in comment


def test_the_suite_of_tables_has_as_many_runs_as_it_says() -> None:
    found = asked(shipped()["tables"], "--offline")
    specs = specs_of(
        found,
        learner_options(found.learners, {}),
        method_options(found.methods, {}, 1),
        data_of(found, True),
    )

    assert f"Takes {len(specs)} runs of a virtual hour" in shipped()["tables"].read_text()
    assert {spec.clock for spec in specs} == {"virtual"}


def test_the_papers_suites_have_the_tasks_of_its_tables() -> None:
    for learner, n_tasks in (("xgboost", 45), ("dnn", 42)):
        found = asked(shipped()[f"paper-{learner}"], "--offline")
        cells = printed(learner)

        assert {key(task) for task in data_of(found, True)} == {task for task, _ in cells}
        assert {choice.name for choice in found.methods} == {method for _, method in cells}
        assert found.budget_seconds == BUDGETS[learner]
        assert len(cells) == n_tasks * len(found.methods)


@pytest.mark.slow
def test_what_only_one_task_needs_is_all_that_is_looked_at(program: Program, tmp_path: Path) -> None:
    """The other task's data is not there at all."""
    (tmp_path / "own.yaml").write_text("- {name: absent, file: absent.csv, target: y, problem: binary}\n")
    (tmp_path / "s.yaml").write_text(
        "tasks: [absent, iris]\ntask_tables: own.yaml\nmethods: rs\nfolds: 0\nbudget: 9\nmax_trials: 1\n"
    )

    whole = program("run s.yaml -q")
    one = program("run s.yaml -q --only xgboost/iris/rs/fold-0_seed-0")

    assert whole.returncode == 2 and "absent.csv" in whole.stderr
    assert one.returncode == 0, one.stderr
    assert list(headers(tmp_path / "results")) == ["xgboost/iris/rs/fold-0_seed-0"]


@pytest.mark.slow
def test_a_finished_run_whose_data_is_gone_is_not_taken_for_the_same(
    program: Program, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
    line = "run --data a.csv --target y --method rs --budget 9 --max-trials 1 --folds 0 --n-folds 2"
    assert program(line).returncode == 0
    (tmp_path / "a.csv").unlink()

    answer = program(f"{line} -q")

    assert answer.returncode == 2 and answer.stderr.count("\n") == 1
    assert "no file" in answer.stderr and "a.csv" in answer.stderr


# --- a part of the runs -----------------------------------------------------------------------


def test_a_shard_is_every_so_manieth_run(program: Program, suite: Path) -> None:
    whole = ids(program("run suite.yaml --list"))

    assert ids(program("run suite.yaml --list --shard 3/3")) == whole[2::3]


def test_only_the_runs_of_these_ids_are_run(program: Program, suite: Path, tmp_path: Path) -> None:
    _, second, *_, last = ids(program("run suite.yaml --list"))

    answer = program("run suite.yaml -q --only", last, "--only", second)

    assert answer.returncode == 0, answer.stderr
    assert sorted(headers(tmp_path / "out")) == sorted([second, last])


def test_an_empty_shard_is_no_failure(program: Program, suite: Path, tmp_path: Path) -> None:
    answer = program("run suite.yaml --shard 40/40")

    assert (answer.returncode, answer.stdout) == (0, "")
    assert "none is left" in answer.stderr
    assert not (tmp_path / "out").exists()


# --- the command line has the last word -------------------------------------------------------


def asked(suite: Path | None, line: str) -> Suite:
    """The suite as `run` sees it."""
    context = cli.commands["run"].make_context("run", shlex.split(line))
    with context:
        return suite_of(None if suite is None else str(suite), context.params)


def test_an_option_takes_the_place_of_its_key(suite: Path) -> None:
    found = asked(
        suite,
        "--task iris --task 'bng_*' --method gpei --learner knn --folds 3 --n-folds 4 --seed 9 --budget 10m "
        "--max-trials 7 --trial-timeout 2m --threads 2 --parallel 3 --memory 2GB --validation holdout "
        "--holdout-share 0.4 --clock wall --jobs 5 --results here --data-dir d --tasks t.yaml",
    )

    assert [pick.word for pick in found.tasks] == ["iris", "bng_*"]
    assert [choice.name for choice in found.methods] == ["gpei"]
    assert [choice.name for choice in found.learners] == ["knn"]
    given = {
        "folds": "3", "n_folds": 4, "seeds": (9,), "budget_seconds": 600.0, "max_trials": 7,
        "trial_timeout_seconds": 120.0, "threads": 2, "parallel": 3, "memory_mb": 2048,
        "validation": "holdout", "holdout_share": 0.4, "clock": "wall", "jobs": 5, "results": Path("here"),
        "data_dir": Path("d"), "task_tables": (Path("t.yaml"),),
    }  # fmt: skip
    assert {name: getattr(found, name) for name in given} == given


def test_what_is_not_given_stays_as_in_the_file(suite: Path, tmp_path: Path) -> None:
    found = asked(suite, "--threads 2")

    assert (found.budget_seconds, found.seeds, found.clock, found.results) == (
        3600.0, (0, 3), "virtual", tmp_path / "out",
    )  # fmt: skip


def test_without_a_file_all_is_by_default() -> None:
    found = asked(None, "--method rs --budget 5 --task iris")

    for name in ("learners", "folds", "seeds", "threads", "engine", "jobs", "results", "clock", "cluster"):
        assert getattr(found, name) == getattr(DEFAULTS, name)


def test_a_method_of_the_file_keeps_its_options_when_named_and_options_are_merged(
    program: Program, suite: Path
) -> None:
    answer = program("run suite.yaml --dry-run --method cfo --folds 0 --seed 0 --option delta_init=2")

    assert answer.returncode == 0, answer.stderr
    for line in answer.stdout.splitlines():
        assert "--option delta_init=2" in line and "--option scale=ln" in line
    over = program("run suite.yaml --dry-run --option cfo.scale=log2")
    assert "scale" not in over.stdout


def test_a_task_on_the_command_line_leaves_the_files_exclusions_aside(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("tasks: bundled\nexclude: iris\nmethods: rs\nbudget: 1\n")

    assert asked(path, "--task iris").exclude == ()
    assert asked(path, "--data a.csv --target y").tasks == ()


@pytest.mark.parametrize(
    ("line", "engine", "cluster"),
    [
        ("--engine dask", "dask", Cluster()),
        ("--engine dask --workers 3", "dask", Cluster(workers=3)),
        ("--scheduler tcp://a:8786", "dask", Cluster("join", "tcp://a:8786")),
        (
            "--cluster slurm --workers 20 --cluster-option queue=long --cluster-option walltime=24:00:00",
            "dask",
            Cluster("slurm", None, 20, {"queue": "long", "walltime": "24:00:00"}),
        ),
        ("--engine local", "local", Cluster()),
    ],
)
def test_the_engine_is_chosen_on_the_command_line(line: str, engine: str, cluster: Cluster) -> None:
    found = asked(None, f"--method rs --budget 1 {line}")

    assert (found.engine, found.cluster) == (engine, cluster)


def test_the_cluster_of_the_file_is_kept_where_the_command_line_says_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("methods: rs\nbudget: 1\ncluster: {kind: slurm, workers: 4, options: {cores: 8}}\n")

    assert asked(path, "--workers 9").cluster == Cluster("slurm", None, 9, {"cores": 8})
    assert asked(path, "--cluster-option cores=2").cluster.options == {"cores": 2}
    assert asked(path, "--cluster pbs").cluster == Cluster("pbs")  # slurm's options are not its
    assert asked(path, "--scheduler s.json").cluster.kind == "join"
    assert asked(path, "--engine local").engine == "local"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--workers 3", "--workers 3 counts the workers of a cluster: give --jobs for runs side by side"),
        ("--engine local --cluster slurm", "--cluster slurm is for a Dask cluster"),
        ("--engine local --scheduler x", "--scheduler x is for a Dask cluster"),
        ("--cluster-option a=1", "--cluster-option is for a Dask cluster"),
        ("--cluster slurm --scheduler x", "--scheduler joins a cluster, --cluster slurm starts one"),
        ("--engine dask --jobs 2", "--jobs 2 counts runs side by side on this machine"),
    ],
)
def test_what_is_meant_for_the_other_engine_is_refused(line: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        asked(None, f"--method rs --budget 1 {line}")

    assert str(caught.value).startswith(said)


# --- what is wrong is told before anything starts ---------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  - rs\n", "  - rss\n", "line 4: unknown method 'rss' (did you mean 'rs'?)"),
        ("scale: ln", "scal: ln", "line 5: method 'cfo' has no option 'scal' (did you mean 'scale'?)"),
        ("scale: ln", "scale: 3", "line 5: option scale of method 'cfo' is 3: give log2 or ln"),
        ("scale: ln", "delta_init: -1", "line 5: method 'cfo': delta_init -1: it is a length"),
        ("scale: ln", "parallel: 2", "line 5: option 'parallel': the number of trials at once"),
        ("synthetic-5d]", "synthetic-5]", "line 1: unknown learner 'synthetic-5' (did you mean"),
        ("synthetic-30k]", "synthetic-31k]", "line 2: unknown task 'synthetic-31k' (did you mean"),
        ("synthetic-30k]", "'syn*x']", "line 2: no task has a name like 'syn*x'"),
        ("synthetic-30k]", "tags: [paper, bnary]]", "line 2: unknown tag 'bnary' (did you mean 'binary'?)"),
        ("folds: 0-1", "folds: 8-12", "line 6: folds '8-12': with 10 folds, give numbers from 0 to 9"),
        ("clock: virtual", "clock: wall", "line 4: --clock wall: learner 'synthetic' does not train"),
        ("results: out", "exclude: 'synthetic*'", "line 11: exclude leaves out all 2 tasks"),
        ("  - rs\n", "  - cfo\n", "line 4: method 'cfo': another method also has the name 'cfo'"),
        ("budget: 1h", "budget: 1hour", "line 8: budget is '1hour': write seconds"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("flags", ["", "--list"])
def test_a_mistake_in_a_suite_is_told_with_its_line(
    suite: Path, tmp_path: Path, old: str, new: str, said: str, flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert old in SUITE
    suite.write_text(SUITE.replace(old, new), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    answer = CliRunner().invoke(cli, ["run", "suite.yaml", *flags.split()])

    assert isinstance(answer.exception, CfoBenchError) and answer.exception.exit_code == 2
    assert str(answer.exception).startswith(f"suite.yaml, {said}")
    assert "\n" not in str(answer.exception)
    assert not (tmp_path / "out").exists()


def test_a_suite_without_methods_or_budget_says_what_to_add(program: Program, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("tasks: iris\nbudget: 3\n")

    answer = program("run s.yaml")

    assert answer.returncode == 2
    assert answer.stderr == (
        "cfo-bench run: missing option '--method' (or methods: in s.yaml) (see cfo-bench run --help)\n"
    )


def test_an_unknown_id_is_told_the_nearest(program: Program, suite: Path) -> None:
    answer = program("run suite.yaml --only synthetic/synthetic-1k/rs/fold-2_seed-0")

    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert "unknown run 'synthetic/synthetic-1k/rs/fold-2_seed-0' (did you mean 'synthetic/" in line


# --- what is printed --------------------------------------------------------------------------


def test_a_dry_run_tells_runs_hours_cores_and_memory(program: Program, suite: Path) -> None:
    more = "--learner xgboost --task iris --clock wall"
    answer = program(f"run suite.yaml --dry-run --jobs 4 --threads 2 --memory 3GB {more}")

    assert answer.stderr.splitlines() == [
        "8 runs, 8 h 00 min of budget in all, 2 h 00 min with --jobs 4",
        "4 at a time: 8 cores, 4 × 3072 MB = 12288 MB of memory, besides the data",
    ]


def test_a_dry_run_counts_the_workers_of_a_cluster(program: Program, suite: Path) -> None:
    pytest.importorskip("dask_jobqueue")

    answer = program("run suite.yaml --dry-run --cluster slurm --workers 8")

    assert answer.stderr.splitlines() == [
        "32 runs, 32 h 00 min of virtual time in all; it is recorded or computed, and only the methods "
        "themselves take real time",
        "8 at a time: 8 cores, and a fair share of its worker's memory for each",
    ]


@pytest.mark.parametrize("what", ["suite", "trace"])
def test_the_schemas_are_printed(what: str) -> None:
    answer = CliRunner().invoke(cli, ["schema", what])

    assert json.loads(answer.stdout)["title"].casefold().find(what) >= 0
    assert (answer.stdout == CliRunner().invoke(cli, ["schema"]).stdout) == (what == "suite")
