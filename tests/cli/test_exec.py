"""`--method exec:'…'`: a method in a program of its own, as a user runs it."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cfo_bench.results.schema import trace_schema
from tests.cli.conftest import Program

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "examples" / "hill_climb.py"
VIRTUAL = "run --learner synthetic --task synthetic-1k --clock virtual --budget 60 --folds 0"


def line(words: list[object], more: str = "") -> list[str]:
    return ["--method", f"exec:{shlex.join(map(str, words))}", *shlex.split(more)]


def trace(folder: Path, method: str = "hill_climb", fold: int = 0) -> list[dict[str, Any]]:
    path = folder / f"results/synthetic/synthetic-1k/{method}/fold-{fold}_seed-0.jsonl"
    return [json.loads(text) for text in path.read_text().splitlines()]


def test_a_program_of_another_environment_runs_and_its_trace_says_all_of_it(
    program: Program, tmp_path: Path
) -> None:
    """The environment is new, so that it has no cfo-bench; and there are spaces in its path."""
    venv = tmp_path / "an environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", venv], check=True)
    python = venv / "bin" / "python"
    isolated = [python, "-I", "-c", "import cfo_bench"]
    assert b"No module named 'cfo_bench'" in subprocess.run(isolated, capture_output=True).stderr

    words = line([python, "-I", CLIENT], "--option hill_climb.share=0.5 --method rs --max-trials 12")
    answer = program(VIRTUAL, *words)

    assert answer.returncode == 0, answer.stderr
    header, *trials, end = trace(tmp_path)
    assert len(trials) == 12 and end["reason"] == "max_trials"
    assert trials[0]["config"] == header["start"]
    assert header["spec"]["options"] == {"share": 0.5, "parallel": 1, "answer_timeout_seconds": 600.0}
    assert header["program"]["command"] == shlex.join(map(str, [python, "-I", CLIENT]))
    assert header["program"]["version"] == "1"
    assert 0 < header["program"]["round_trip_seconds"] < 1
    schema = trace_schema()
    jsonschema.validate(header, schema)
    assert "hill_climb is a separate program" in answer.stderr
    again = shlex.split(header["command"])
    assert again[again.index("--method") + 1] == words[1]
    assert [again[at + 1] for at, word in enumerate(again) if word == "--option"] == ["share=0.5"]


def test_looking_at_runs_starts_no_program(program: Program, tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("open('started', 'w')")
    (tmp_path / "suite.yaml").write_text(
        f"learners: synthetic\ntasks: synthetic-1k\nmethods: [rs, 'exec:{sys.executable} evil.py']\n"
        "folds: 0\nbudget: 1m\nmax_trials: 2\nclock: virtual\n"
    )

    listed = program("run suite.yaml --list")
    dry = program("run suite.yaml --dry-run")
    program("prepare suite.yaml", CFO_BENCH_OFFLINE="1")

    assert "synthetic/synthetic-1k/evil/fold-0_seed-0" in listed.stdout.splitlines()
    assert dry.returncode == 0 and f"'exec:{sys.executable} evil.py'" in dry.stdout
    assert not (tmp_path / "started").exists()
    missing = program(VIRTUAL, "--dry-run", *line(["nowhere/python", "evil.py"]))
    assert missing.returncode == 2
    assert "no program 'nowhere/python'" in missing.stderr and missing.stderr.count("\n") == 1


def test_two_programs_of_one_name_are_refused(program: Program) -> None:
    answer = program(VIRTUAL, *line([sys.executable, CLIENT]), *line([sys.executable, "-S", CLIENT]))

    assert answer.returncode == 2
    assert "another method also has the name 'hill_climb'" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_no_learner_is_a_program(program: Program) -> None:
    answer = program("run --task iris --method rs --budget 1 --dry-run", "--learner", "exec:python x.py")

    assert answer.returncode == 2
    assert "unknown learner 'exec:python x.py'" in answer.stderr


def test_a_program_that_fails_ends_its_run_with_its_last_words_and_its_log_is_kept(
    program: Program, tmp_path: Path
) -> None:
    source = CLIENT.read_text().replace('    elif message["do"] == "ask":', "    elif asks(message):")
    (tmp_path / "weak.py").write_text(
        "import sys\n"
        "def asks(message):\n"
        "    if message.get('number') == 3:\n"
        "        print('line one\\nthe model has diverged', file=sys.stderr)\n"
        "        sys.exit(4)\n"
        "    return message['do'] == 'ask'\n" + source
    )

    answer = program(VIRTUAL, *line([sys.executable, "weak.py"]), "-q")

    log = tmp_path / "results/synthetic/synthetic-1k/weak/fold-0_seed-0.log"
    assert answer.returncode == 1
    said = next(one for one in answer.stderr.splitlines() if "weak" in one)
    assert "ended with exit code 4" in said
    assert "the last line on its stderr: the model has diverged" in said
    assert said.endswith(f"more in {log.relative_to(tmp_path)}")
    assert log.read_text() == "line one\nthe model has diverged\n"
    *_, end = trace(tmp_path, "weak")
    assert end["reason"] == "error" and end["trials"] == 3


def test_an_option_that_the_program_refuses_is_an_error_before_the_runs(
    program: Program, tmp_path: Path
) -> None:
    answer = program(VIRTUAL, *line([sys.executable, CLIENT], "--option share=3.0"))

    assert answer.returncode == 2
    assert "share is 3.0: give a number above 0, and at most 1" in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_a_suite_finds_the_program_beside_it_and_gives_it_options(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    shutil.copy(CLIENT, folder / "own.py")
    (folder / "suite.yaml").write_text(
        f"learners: synthetic\ntasks: synthetic-1k\n"
        f"methods:\n  - 'exec:{sys.executable} own.py': {{share: 1.0}}\n"
        "folds: 0\nbudget: 1m\nmax_trials: 4\nclock: virtual\nparallel: 2\n"
    )

    answer = program("run 'a folder/suite.yaml' --results results")

    assert answer.returncode == 0, answer.stderr
    header, *trials, _ = trace(tmp_path, "own")
    assert (header["spec"]["options"]["share"], header["spec"]["options"]["parallel"]) == (1.0, 2)
    assert len(trials) == 4


def test_more_trials_at_once_than_the_program_takes_are_refused(program: Program) -> None:
    answer = program(VIRTUAL, *line([sys.executable, CLIENT], "--parallel 65"))

    assert answer.returncode == 2
    assert "parallel 65: the program runs at most 64 trials at once" in answer.stderr


def test_its_options_are_listed(program: Program) -> None:
    answer = program("methods", f"exec:{sys.executable} {CLIENT}")

    assert "share=0.3  (a number)" in answer.stdout.splitlines()


@pytest.mark.parametrize("parallel", [1, 2])
def test_an_interrupted_run_is_resumed_by_a_new_program_that_is_told_all_again(
    program: Program, tmp_path: Path, parallel: int
) -> None:
    words = line([sys.executable, CLIENT], f"--max-trials 12 --parallel {parallel} -q")
    assert program(VIRTUAL, *words).returncode == 0
    path = tmp_path / "results/synthetic/synthetic-1k/hill_climb/fold-0_seed-0.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:7]))

    assert program(VIRTUAL, *words).returncode == 0

    again = [one for one in path.read_bytes().splitlines(keepends=True) if b'"kind":"trial"' in one]
    assert again == whole[1:13]
