"""Whatever a user meets is one line and an exit code as documented, and never a stack trace or a hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.fuzz.checks import call, failures_of
from tests.fuzz.damage import whole_page
from tests.helpers.commands import ROOT, Commands, faulty, no_stack_trace, one_line, virtual, wait_until
from tests.helpers.traces import write_run

Row = dict[str, Any]

# Where in a trace, and what stands there: (kind of the line, path of keys, value; `...` takes the key away).
MISTYPED: dict[str, tuple[str, str, object]] = {
    "a number for the machine": ("run", "machine", 7),
    "a list of cpus": ("run", "machine.cpu", []),
    "text for the load": ("run", "machine.load", "high"),
    "text for the seed": ("run", "spec.seed", "0"),
    "text for the fold": ("run", "spec.fold", "0"),
    "no spec": ("run", "spec", ...),
    "null for the spec": ("run", "spec", None),
    "a list for the learner": ("run", "spec.learner", ["synthetic"]),
    "null for the task": ("run", "spec.task", None),
    "a dict for the method": ("run", "spec.method", {}),
    "text for the budget": ("run", "spec.budget_seconds", "60"),
    "a list of options": ("run", "spec.options", []),
    "no data": ("run", "data", ...),
    "text for the data": ("run", "data", "x"),
    "a number for the hash": ("run", "data.sha256", 7),
    "text for the rows": ("run", "data.train_rows", "900"),
    "a list of metrics": ("run", "metric", ["r2"]),
    "an unknown metric": ("run", "metric", "r3"),
    "an unknown problem": ("run", "problem", "riddle"),
    "text for the constant": ("run", "constant_loss", "1"),
    "a list of versions": ("run", "cfo_bench", []),
    "text for packages": ("run", "packages", "numpy"),
    "text for the schema": ("run", "schema", "1"),
    "text for a loss": ("trial", "loss", "0.5"),
    "a list for a configuration": ("trial", "config", []),
    "text for a time": ("trial", "ended", "1"),
    "a negative time": ("trial", "started", -1.0),
    "text for the rows of a trial": ("trial", "rows", "5"),
    "a bool for a number": ("trial", "number", True),
    "an unknown status": ("trial", "status", "great"),
    "a list for an error": ("trial", "error", ["x"]),
    "text for a test score": ("trial", "test_score", "1"),
    "text for ask seconds": ("trial", "ask_seconds", "1"),
    "text for the load at the end": ("end", "load", "high"),
    "text for elapsed": ("end", "elapsed", "1"),
    "text for the trials": ("end", "trials", "5"),
    "a list for the end's error": ("end", "error", []),
    "an unknown reason": ("end", "reason", "boredom"),
}


def damage(path: Path, kind: str, where: str, value: object) -> None:
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    row: Row = next(row for row in rows if row["kind"] == kind)
    *inner, last = where.split(".")
    for key in inner:
        row = row[key]
    if value is ...:
        del row[last]
    else:
        row[last] = value
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


@pytest.mark.parametrize("what", MISTYPED)
def test_a_mistyped_value_is_refused_by_every_command(commands: Commands, what: str):
    assert commands(*virtual(), "--task", "synthetic-30k").returncode == 0
    [path] = commands.results.rglob("synthetic-1k/**/*.jsonl")
    damage(path, *MISTYPED[what])
    content, name = path.read_bytes(), str(path.relative_to(commands.folder))
    answers = {
        "status": commands("status", "results"),
        "report": commands("report", "results", "--format", "csv"),
        "merge": commands("merge", "results", "-o", "merged"),
        "run": commands(*virtual()),
    }
    for answer in answers.values():
        no_stack_trace(answer, 0, 1, 2)
    assert [command for command, answer in answers.items() if name not in answer.stderr] == []
    assert answers["status"].returncode == answers["report"].returncode == 0
    assert path.read_bytes() == content


def test_a_name_over_255_bytes_is_one_line(commands: Commands):
    long = "n" * 300
    (commands.folder / "sales.csv").write_text("a,y\n" + "".join(f"{n},{n % 2}\n" for n in range(40)))
    (commands.folder / "tasks.yaml").write_text(f"- {{name: {long}, file: sales.csv, target: y}}\n")
    words = f"--task {long} --tasks tasks.yaml --method rs --budget 5 --max-trials 1 --folds 0 -q".split()
    one_line(commands("run", *words), 2)
    one_line(commands("status", long), 2)
    one_line(commands("report", long), 2)
    one_line(commands("merge", long, "-o", "out"), 2)


LONG = "n" * 300
WITH_A_PATH = [
    "run --task iris --data-dir LONG",
    "run --task iris --method optunahub:LONG:X",
    "run --task iris --method LONG.py:X",
    "run --task iris --learner LONG.py:X",
    "run --task iris --learner LONG.yaml",
    "run --task iris --tasks LONG.yaml",
    "run --task iris --surrogate LONG",
    "run --task yahpo:rbv2_svm --yahpo LONG",
    "run LONG.yaml",
    "tasks --data-dir LONG",
    "tasks show x --data LONG.csv --target y",
    "prepare --task iris --data-dir LONG",
    "merge results -o LONG",
    "export results -o LONG.csv",
    "export results --to optuna LONG.log",
    "export results --to optuna sqlite:///LONG.db",
    "export results --to deepcave LONG",
    "import LONG --from csv",
    "import LONG --from optuna",
    "import LONG --from smac",
    "surrogate fit results -o LONG",
    "replay LONG",
]


def test_a_path_that_no_file_system_takes_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "results", "t", "rs", 0, [(1, 0.5, 1)])
    runs = ["--budget", "5", "--dry-run", "--offline"]

    for line in WITH_A_PATH:
        words = line.replace("LONG", LONG).split()
        words += runs + ["--method", "rs"] * ("--method" not in words) if words[0] == "run" else []
        answer = call(words)
        assert list(failures_of(answer)) == [], line
        assert answer.exit_code in (1, 2) and answer.err.count("\n") == 1, (line, answer.err)


def test_the_report_takes_a_task_of_a_name_over_255_bytes(commands: Commands):
    assert commands(*virtual()).returncode == 0
    damage(commands.trace_path(), "run", "spec.task", "n" * 300)
    no_stack_trace(commands("report", "results", "--format", "csv,html"), 0, 2)


@pytest.mark.parametrize("name", [b"caf\xe9.jsonl", b"\xff\xfe", b"caf\xe9"])
def test_names_that_are_not_utf_8_are_read_or_refused(commands: Commands, name: bytes):
    assert commands(*virtual()).returncode == 0
    place = os.path.join(os.fsencode(commands.results), name)
    whole = commands.trace_path().read_bytes()
    if name.endswith(b".jsonl"):
        Path(os.fsdecode(place)).write_bytes(b"no trace")
    else:
        os.mkdir(place)
        Path(os.fsdecode(os.path.join(place, b"fold-0_seed-0.jsonl"))).write_bytes(whole)
    # The copy of the trace in a folder of that name is the same run twice, which no report takes.
    for words, exit_codes in (
        (["status", "results"], (0,)),
        (["status", "results", "--json"], (0,)),
        (["report", "results"], (0, 2)),
        (["merge", "results", "-o", "out"], (0, 1)),
    ):
        no_stack_trace(commands(*words), *exit_codes)
    no_stack_trace(commands("status", os.fsdecode(name)), 2)
    no_stack_trace(commands("run", "--data", os.fsdecode(name), "--target", "y", *virtual()[3:]), 2)


@pytest.mark.parametrize(
    "words",
    [
        ["status", "~nosuchuser/x"],
        ["tasks", "--tasks", "~nosuchuser/t.yaml"],
        ["tasks", "--data-dir", "~nosuchuser/data"],
        ["run", "~nosuchuser/s.yaml"],
        ["run", "--data", "~nosuchuser/x.csv", "--target", "y", "--method", "rs", "--budget", "5"],
        ["prepare", "~nosuchuser/s.yaml"],
    ],
)
def test_the_home_of_nobody_is_one_line(commands: Commands, words: list[str]):
    one_line(commands(*words), 2, "~nosuchuser")


def test_a_table_that_names_the_home_of_nobody_is_one_line(commands: Commands):
    (commands.folder / "t.yaml").write_text("- {name: x, file: ~nosuchuser/x.csv, target: y}\n")
    one_line(commands("tasks", "--tasks", "t.yaml"), 2, "~nosuchuser")


@pytest.mark.parametrize("name", ['"sales\\0.csv"', '"sales\\ud800.csv"'])
@pytest.mark.parametrize("command", ["prepare", "tasks show", "run"])
def test_a_table_that_names_a_file_no_file_system_takes_is_one_line(
    commands: Commands, command: str, name: str
):
    (commands.folder / "t.yaml").write_text(f"- {{name: sales, file: {name}, target: y}}\n")
    words = {
        "prepare": ["prepare", "--task", "sales"],
        "tasks show": ["tasks", "show", "sales"],
        "run": ["run", "--task", "sales", "--method", "rs", "--budget", "5", "-q"],
    }
    result = commands(*words[command], "--tasks", "t.yaml")
    no_stack_trace(result, 1, 2)
    assert "no file" in result.stderr and "check the path" in result.stderr


@pytest.fixture
def small_disk(commands: Commands) -> Iterator[Path]:
    """A file system in memory that is soon full."""
    folder = commands.folder / "small"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True)
    if done.returncode:
        pytest.skip(f"mounting a small file system is not permitted: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("formats", ["csv", "html", "png"])
def test_a_report_on_a_full_disk_is_one_line(commands: Commands, small_disk: Path, formats: str):
    assert commands(*virtual(folds="0-1")).returncode == 0
    with (small_disk / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 512)
    result = commands("report", "results", "-o", small_disk / "report", "--format", formats)
    no_stack_trace(result, 1)
    assert "No space left on device" in result.stderr.splitlines()[-1]


def test_a_report_without_dev_shm_works_or_is_one_line(commands: Commands):
    assert commands(*virtual(folds="0-1")).returncode == 0
    script = f"mount -t tmpfs -o ro tmpfs /dev/shm && exec {sys.executable} -m cfo_bench report results"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("a mount of our own is not permitted")
    result = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        cwd=commands.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    no_stack_trace(result, 0, 1)


@pytest.mark.parametrize(
    "words", [["tasks"], ["status", "results"], ["report", "results"], ["methods"], ["run"]]
)
@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_terminal_that_is_not_utf_8_gets_what_it_can_show(
    commands: Commands, words: list[str], encoding: str
):
    assert commands(*virtual(folds="0-1")).returncode == 0
    words = virtual(folds="0-1") if words == ["run"] else words
    no_stack_trace(commands(*words, PYTHONIOENCODING=encoding), 0)


@pytest.mark.parametrize(
    "words", [["tasks"], ["status", "results"], ["report", "results", "--format", "csv"], ["--help"]]
)
def test_a_closed_stdout_is_no_stack_trace(commands: Commands, words: list[str]):
    assert commands(*virtual()).returncode == 0
    line = " ".join([sys.executable, "-m", "cfo_bench", *words])
    for closed in (">&-", ">/dev/full"):
        result = subprocess.run(
            ["sh", "-c", f"{line} {closed}"],
            cwd=commands.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=100,
        )
        no_stack_trace(result, 0, 1, 141)
        assert "Exception ignored" not in result.stderr and result.stderr.count("Error") <= 1


@pytest.mark.parametrize("name", ["x.jsonl", "synthetic/synthetic-1k/rs/fold-1_seed-0.jsonl", "runs.plan"])
@pytest.mark.parametrize("command", ["status", "report", "merge", "run"])
def test_a_fifo_holds_up_no_command(commands: Commands, name: str, command: str):
    assert commands(*virtual()).returncode == 0
    place = commands.results / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    words = {
        "status": ["status", "results"],
        "report": ["report", "results", "--format", "csv"],
        "merge": ["merge", "results", "-o", "merged"],
        "run": virtual(folds="0-1"),
    }
    no_stack_trace(commands(*words[command], seconds=30), 0, 1, 2)


@pytest.mark.parametrize("suffix", [".live", ".log"])
def test_a_fifo_beside_a_trace_holds_up_no_run(commands: Commands, suffix: str):
    place = commands.results / "synthetic" / "synthetic-1k" / "rs" / f"fold-0_seed-0{suffix}"
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    no_stack_trace(commands(*virtual(), seconds=30), 0, 1, 2)


READ_AS: dict[str, tuple[str, list[str]]] = {
    "a suite": ("suite.yaml", ["suite.yaml"]),
    "a task table": ("tasks.yaml", ["--tasks", "tasks.yaml", "--task", "mine"]),
    "an index": ("index.csv", ["--data-dir", ".", "--task", "mine"]),
    "a CSV file": ("mine.csv", ["--data", "mine.csv", "--target", "y"]),
    "a Parquet file": ("mine.parquet", ["--data", "mine.parquet", "--target", "y"]),
}


@pytest.mark.parametrize("what", READ_AS)
def test_a_fifo_in_the_place_of_a_file_is_refused(commands: Commands, what: str):
    name, words = READ_AS[what]
    os.mkfifo(commands.folder / name)
    result = commands("run", *words, "--method", "rs", "--budget", 5, "--offline", seconds=30)
    one_line(result, 2, name, "not a regular file")


PAGES: dict[str, tuple[bytes, bytes]] = {
    "rows that are no mappings": (b"17,null,[]", b"17\n[]\n"),
    "a list for a number": (b'{"kind":"trial","number":[]}', b""),
    "rows without keys": (b"{}", b"{}\n"),
    "text for a time": (b'{"kind":"trial","number":3,"started":"x"}', b""),
    "a waiting line without keys": (b"", b'{"kind":"trial","number":3}\n'),
    "a waiting line with text for a loss": (
        b"",
        b'{"kind":"trial","number":3,"config":{},"rows":null,"thread":0,"status":"ok","loss":"x","score":"x",'
        b'"started":0.0,"ended":0.1,"ask_seconds":0,"fit_seconds":0,"validate_seconds":0}\n',
    ),
    "waiting lines that are no lines": (b"", b"\xff\xfe\0\0{"),
    "deep nesting": (b"[" * 50_000, b""),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_damaged_live_page_is_no_stack_trace_and_costs_no_trial(commands: Commands, page: str):
    words = [*faulty(budget=60, seconds=0.01, at=-1), "--max-trials", 5]
    assert commands(*words).returncode == 0
    path = commands.trace_path()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]))
    path.with_suffix(".live").write_bytes(whole_page(*PAGES[page]))
    result = commands(*words)
    no_stack_trace(result, 0)
    trials = commands.rows()
    assert [trial["number"] for trial in trials] == list(range(5))
    assert [trial["config"] for trial in trials] == [orjson.loads(line)["config"] for line in lines[1:6]]
    assert path.read_bytes().startswith(b"".join(lines[:4]))


@pytest.mark.slow
def test_ctrl_c_in_a_report_is_one_line(commands: Commands):
    assert commands(*virtual(folds="0-4"), "--task", "synthetic-30k", "--method", "cfo").returncode == 0
    for seconds in (0.3, 0.8, 1.2, 1.5, 1.8, 2.1, 2.4, 2.8, 3.2):
        running = commands.start("report", "results", "-o", f"report-{seconds}")
        wait_until(lambda: len(commands.processes()) > 0, "its process")
        time.sleep(seconds)
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGINT)
        _, err = running.communicate(timeout=30)
        assert "Traceback" not in err, f"after {seconds} s: {err[-1500:]}"
        # A signal that comes before Python listens to any ends it as a shell expects: as 130, too.
        assert running.returncode in (0, 130, -signal.SIGINT)
        wait_until(lambda: not commands.processes(), "the end of all processes", 10)


@pytest.mark.slow
def test_what_draws_a_report_ends_with_it(commands: Commands):
    assert commands(*virtual(folds="0-4"), "--task", "synthetic-30k", "--method", "cfo").returncode == 0
    running = commands.start("report", "results")
    wait_until(lambda: len(commands.processes()) > 3, "the processes that draw", 60)
    running.kill()
    running.wait()
    wait_until(lambda: not commands.processes(), "the end of all processes", 20)


def test_a_long_unbroken_error_does_not_hold_up_status(commands: Commands):
    assert commands(*virtual()).returncode == 0
    path = commands.trace_path()
    *lines, last = path.read_bytes().splitlines()
    end = {**orjson.loads(last), "reason": "error", "error": "fold-1" * 40_000}
    path.write_bytes(b"\n".join([*lines, orjson.dumps(end)]) + b"\n")
    began = time.monotonic()
    result = commands("status", "results")
    assert result.returncode == 0 and time.monotonic() - began < 60
    assert len(result.stdout) < 20_000


@pytest.mark.parametrize("words", [["--n-folds", "100000000"], ["--n-folds", "100000000", "--folds", "all"]])
@pytest.mark.parametrize("looking", ["--dry-run", "--list"])
def test_absurdly_many_folds_are_refused_at_once(commands: Commands, words: list[str], looking: str):
    line = "run --task synthetic-1k --learner synthetic --clock virtual --method rs --budget 5"
    began = time.monotonic()
    result = commands(*line.split(), looking, *words)
    assert time.monotonic() - began < 60
    one_line(result, 2, "100000000")


@pytest.mark.parametrize("method", ["cfo", "rs"])
def test_absurdly_many_trials_at_once_are_refused_at_once(commands: Commands, method: str):
    line = (
        f"run --task synthetic-1k --learner synthetic --clock virtual --method {method} --budget 5 --dry-run"
    )
    began = time.monotonic()
    result = commands(*line.split(), "--dry-run", "--parallel", "9999999999", seconds=30)
    assert time.monotonic() - began < 20
    one_line(result, 2, "9999999999", "1000")
