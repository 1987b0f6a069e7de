"""What can be wrong with a `run` is said in one line, before any run starts."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Program = Callable[..., subprocess.CompletedProcess[str]]

IRIS = ["--task", "iris", "--method", "cfo", "--budget", "1"]
CSV = "x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(40))


def refusal(program: Program, tmp_path: Path, *arguments: str, **variables: str) -> str:
    """The one line that refuses a run, of which nothing was begun."""
    answer = program("run", *arguments, **variables)
    assert answer.returncode == 2, answer.stderr
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    assert line.startswith("cfo-bench: ")
    assert not (tmp_path / "results").exists()
    return line.removeprefix("cfo-bench: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--task", "irs", "--method", "cfo", "--budget", "1"], "unknown task 'irs' (did you mean 'iris'?)"),
        (["--task", "iris", "--method", "cfoo", "--budget", "1"], "unknown method 'cfoo' (did you mean 'cfo"),
        ([*IRIS, "--learner", "xgb"], "unknown learner 'xgb'"),
        ([*IRIS, "--folds", "10"], "--folds '10': with 10 folds, give numbers from 0 to 9"),
        ([*IRIS, "--folds", "4-2"], "--folds '4-2': with 10 folds, give numbers from 0 to 9"),
        (["--method", "cfo", "--budget", "1"], "no task: give --task"),
        ([*IRIS, "--target", "y"], "--target y is for a file of your own: give it with --data, or leave"),
        ([*IRIS, "--problem", "binary"], "--problem binary is for a file of your own"),
        (["--data", "a.csv", "--method", "cfo", "--budget", "1"], "--data a.csv needs --target"),
        ([*IRIS, "--data-dir", "nowhere"], "no folder 'nowhere': --data-dir must name a folder"),
        ([*IRIS, "--option", "step=1"], "method 'cfo' has no option 'step': its options are delta_init"),
        ([*IRIS, "--option", "delta_init"], "option 'delta_init': write key=value"),
        ([*IRIS, "--option", "delta_init=abc"], "option delta_init of method 'cfo' is 'abc': give a number"),
        ([*IRIS, "--option", "scale=foo"], "option scale of method 'cfo' is 'foo': give log2 or ln"),
        ([*IRIS, "--option", "redraw=3"], "option redraw of method 'cfo' is 3: give true or false"),
        ([*IRIS, "--option", "n_threshold=0"], "method 'cfo': n_threshold 0: choose from 2^(d-1), d, 2d"),
        ([*IRIS, "--option", "delta_init=-1"], "method 'cfo': delta_init -1: it is a length"),
        ([*IRIS, "--learner-option", "categories=3"], "option categories of learner 'xgboost' is 3"),
        ([*IRIS, "--clock", "virtual"], "--clock virtual: learner 'xgboost' really trains"),
        ([*IRIS, "--learner", "synthetic", "--clock", "wall"], "--clock wall: learner 'synthetic' does not"),
        ([*IRIS, "--parallel", "2", "--validation", "holdout"], "--parallel 2 can't be combined"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_one_line(program: Program, tmp_path: Path, arguments: list[str], said: str) -> None:
    assert refusal(program, tmp_path, *arguments).startswith(said)


@pytest.mark.parametrize("option", ["scale=foo", "n_threshold=0", "delta_init=abc"])
def test_a_dry_run_finds_wrong_options_too(program: Program, tmp_path: Path, option: str) -> None:
    assert option.partition("=")[0] in refusal(program, tmp_path, *IRIS, "--option", option, "--dry-run")


@pytest.mark.parametrize(
    ("name", "content", "target", "said"),
    [
        ("absent.csv", None, "y", "absent.csv"),
        ("few.csv", CSV, "z", "'z'"),
        ("constant.csv", "x,y\n" + "1,1\n" * 40, "y", "constant"),
    ],
)
def test_wrong_data_is_one_line(
    program: Program, tmp_path: Path, name: str, content: str | None, target: str, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")

    line = refusal(program, tmp_path, "--data", name, "--target", target, "--method", "rs", "--budget", "1")

    assert said in line


def test_two_tasks_of_one_name_are_refused(program: Program, tmp_path: Path) -> None:
    (tmp_path / "iris.csv").write_text(CSV, encoding="utf-8")

    line = refusal(program, tmp_path, *IRIS, "--data", "iris.csv", "--target", "y")

    assert line.startswith("two tasks have the name 'iris'")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "no file 'mine.py'"),
        ("class Other: ...", "mine.py has no class 'Mine': name one that it has"),
        ("Mine = 3", "mine.py has no class 'Mine'"),
        (
            "import a_package_that_nobody_has",
            "can't be imported: correct mine.py (ModuleNotFoundError: No module",
        ),
        ("class Mine", "can't be imported: correct mine.py (SyntaxError: "),
        ("class Mine: ...", "method 'mine.py:Mine' can't be built with its options: TypeError: "),
        (
            "class Mine:\n    def __init__(self, space, start, seed): ...\n    def ask(self): ...",
            "method 'mine.py:Mine' has no tell(): it needs ask() and tell()",
        ),
    ],
)
def test_a_method_from_a_wrong_file_is_one_line(
    program: Program, tmp_path: Path, source: str | None, said: str
) -> None:
    if source is not None:
        (tmp_path / "mine.py").write_text(source, encoding="utf-8")

    line = refusal(program, tmp_path, "--task", "iris", "--method", "mine.py:Mine", "--budget", "1")

    assert said in line


def test_a_trace_of_another_run_is_one_line_and_stays_as_it_is(program: Program, tmp_path: Path) -> None:
    tiny = [
        "--task",
        "synthetic-1k",
        "--learner",
        "synthetic",
        "--clock",
        "virtual",
        "--method",
        "rs",
        "--folds",
        "0",
    ]
    assert program("run", *tiny, "--budget", "1").returncode == 0
    (path,) = tmp_path.rglob("*.jsonl")
    before = path.read_bytes()

    answer = program("run", *tiny, "--budget", "1", "--trial-timeout", "2", "-q", "--json")

    assert answer.returncode == 2
    assert answer.stdout == "[]\n"  # another run's numbers are not shown as this one's
    (line,) = answer.stderr.splitlines()
    assert "belongs to another run (trial_timeout_seconds None there, 2.0 here)" in line
    assert path.read_bytes() == before
