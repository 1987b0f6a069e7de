"""Full and read-only disks, foreign and broken traces: one clear line, and no file made worse."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import orjson
import pytest

from cfo_bench.records import EndReason

SHORT = ["--max-trials", "5"]


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory that is soon full."""
    folder = tmp_path / "results"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder], capture_output=True)
    if done.returncode:
        pytest.skip(f"mounting a small file system is not permitted: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(path: Path) -> None:
    """Writes to the file until the disk takes no more."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 512)


def one_line(result: subprocess.CompletedProcess[str], exit_code: int, *words: str) -> None:
    assert result.returncode == exit_code, result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    assert "Traceback" not in result.stderr and "unexpected" not in result.stderr
    for word in words:
        assert word in result.stderr


def test_a_full_disk_keeps_every_trial_and_the_run_is_resumed_when_there_is_room(
    bench, faulty, mounted: Path
):
    ballast = mounted / "ballast"
    words = faulty(budget=30, seconds=0.002)
    running = bench.start(*words, "--max-trials", "2000")
    bench.wait_for_trials(3)
    fill(ballast)
    _, err = running.communicate(timeout=90)
    assert running.returncode == 1
    assert "No space left on device" in err and "free some space" in err and err.count("\n") == 1
    kept = bench.trial_lines()
    numbers = [orjson.loads(line)["number"] for line in kept]
    assert numbers == list(range(len(kept))) and len(kept) >= 3
    assert bench.trace_path().read_bytes().endswith(b"\n")
    bench.assert_no_process_is_left()

    one_line(bench.run(*words, "--max-trials", "2000"), 1, "No space left on device")
    assert bench.trial_lines()[: len(kept)] == kept
    ballast.unlink()
    other = bench.run(*words, "--max-trials", "2000", "--trial-timeout", "9")
    assert other.returncode == 2  # it is another run, and says so
    running = bench.start(*words, "--max-trials", "2000")
    bench.wait_for_trials(len(kept) + 5)
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=90)
    assert bench.trial_lines()[: len(kept)] == kept
    # The trial that found the disk full was finished: it was kept beside the trace until there was room.
    finished = [trial.number for trial in bench.trace().trials]
    assert finished == list(range(len(finished)))
    bench.assert_nothing_is_left()


def test_no_room_for_the_first_byte_is_one_line(bench, faulty, mounted: Path):
    fill(mounted / "ballast")
    one_line(bench.run(*faulty(budget=5), *SHORT), 1, "No space left on device")
    assert bench.traces() == []
    bench.assert_nothing_is_left()


def test_a_read_only_results_folder_is_one_line(bench, faulty, mounted: Path):
    subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
    one_line(bench.run(*faulty(budget=5), *SHORT), 2, "Read-only file system", "--results")


def test_a_file_in_place_of_the_results_folder_is_one_line(bench, faulty):
    bench.results.write_text("mine")
    one_line(bench.run(*faulty(budget=5), *SHORT), 2, "can't write", "--results")
    assert bench.results.read_text() == "mine"


def _header(schema: int = 1, **changes: object) -> bytes:
    return orjson.dumps({"kind": "run", "schema": schema, **changes}) + b"\n"


FOREIGN = [
    (_header(schema=99, spec={}), "version 99"),
    (b"these are my notes", "line 1 is not a record"),
    (b"these are\nmy notes\n", "line 1 is not a record"),
    (b"\x00\x01\x02\xff", "line 1 is not a record"),
    (b'{"kind":"trial"}\n', "line 1 is not a record"),
    (b'[1, 2]\n{"kind":"run"}\n', "line 1 is not a record"),
    (_header(spec=7), "line 1 is not a record"),
    (_header(spec={}), "line 1 is not a record"),
]


def test_files_that_are_no_traces_of_these_runs_are_left_as_they_are_and_the_others_run(bench, faulty):
    folder = bench.results / "Faulty" / "synthetic-1k" / "rs"
    folder.mkdir(parents=True)
    paths = [folder / f"fold-{fold}_seed-0.jsonl" for fold in range(10)]
    for path, (content, _) in zip(paths, FOREIGN, strict=False):
        path.write_bytes(content)
    result = bench.run(*faulty(budget=60), *SHORT, "--folds", "all")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr and "unexpected" not in result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == len(FOREIGN)
    for path, line, (content, words) in zip(paths, lines, FOREIGN, strict=False):
        assert str(path.relative_to(bench.folder)) in line and words in line and "--force" in line
        assert path.read_bytes() == content
    for path in paths[len(FOREIGN) :]:
        assert path.read_bytes().count(b'"kind":"trial"') == 5
    bench.assert_nothing_is_left()


def test_garbage_inside_a_trace_is_named_by_its_line_and_left_as_it_is(bench, faulty):
    words = [*faulty(budget=60), *SHORT]
    bench.run(*words)
    path = bench.trace_path()
    lines = path.read_bytes().split(b"\n")
    lines[3] = lines[3][:40]
    path.write_bytes(b"\n".join(lines))
    broken = path.read_bytes()
    one_line(bench.run(*words), 2, "line 4 is not a record", "--force")
    assert path.read_bytes() == broken
    assert bench.run(*words, "--force").returncode == 0
    assert len(bench.trace().trials) == 5


@pytest.mark.parametrize("other", [["--trial-timeout", "9"], ["--n-folds", "5"]])
def test_a_trace_of_another_spec_is_left_as_it_is(bench, faulty, other: list[str]):
    words = [*faulty(budget=60), *SHORT]
    bench.run(*words)
    before = bench.trace_path().read_bytes()
    one_line(bench.run(*words, *other), 2, "belongs to another run", "--force")
    assert bench.trace_path().read_bytes() == before


def test_a_torn_last_line_is_cut_off_and_said(bench, faulty):
    words = [word for word in faulty(budget=60, seconds=0.05) if word != "-q"]
    running = bench.start(*words, "--max-trials", "12")
    bench.wait_for_trials(4)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    bench.assert_no_process_is_left()
    path = bench.trace_path()
    whole = bench.trial_lines()
    path.write_bytes(path.read_bytes()[:-20])
    result = bench.run(*words, "--max-trials", "12")
    assert result.returncode == 0
    assert "its last line was incomplete" in result.stderr and "resumed after" in result.stderr
    assert bench.trial_lines()[: len(whole) - 1] == whole[:-1]
    assert [trial.number for trial in bench.trace().trials] == list(range(12))


def test_a_finished_run_is_not_run_again(bench, faulty):
    words = [word for word in faulty(budget=60) if word != "-q"] + SHORT
    bench.run(*words)
    before = bench.trace_path().read_bytes()
    result = bench.run(*words)
    assert result.returncode == 0 and "already done" in result.stderr
    assert bench.trace_path().read_bytes() == before
    bench.assert_nothing_is_left()


def test_force_runs_a_finished_run_again_and_keeps_nothing_of_it(bench, faulty):
    bench.run(*faulty(budget=60), "--max-trials", "9")
    assert bench.run(*faulty(budget=60), *SHORT, "--force").returncode == 0
    trace = bench.trace()
    assert len(trace.trials) == 5 and trace.spec.max_trials == 5
    assert sum(b'"kind":"run"' in line for line in bench.lines()) == 1
    assert trace.end is not None and trace.end.reason is EndReason.MAX_TRIALS


@pytest.mark.slow
def test_force_keeps_the_old_trace_when_there_is_nothing_to_put_in_its_place(bench, faulty, tmp_path: Path):
    data = tmp_path / "mine.csv"
    data.write_text("a,y\n" + "".join(f"{n % 7},{n * n % 11}.5\n" for n in range(40)))
    words = [*faulty(budget=60), *SHORT, "--force"]
    words[:2] = ["--data", str(data), "--target", "y"]
    done = bench.run(*words)
    assert done.returncode == 0, done.stderr
    before = bench.trace_path().read_bytes()
    data.write_text("a,y\n1,1\n")
    result = bench.run(*words)
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert bench.trace_path().read_bytes() == before
    bench.assert_nothing_is_left()


def test_two_commands_on_one_folder_share_the_work_and_spoil_nothing(bench, faulty):
    words = [*faulty(budget=60, seconds=0.05), "--max-trials", "12"]
    first, second = bench.start(*words), bench.start(*words)
    errors = first.communicate(timeout=60)[1] + second.communicate(timeout=60)[1]
    assert (first.returncode, second.returncode) == (0, 0), errors
    # Either the second found the first at it, or came when it was done.
    assert errors == "" or "another cfo-bench executes this run" in errors
    trace = bench.trace()
    assert [trial.number for trial in trace.trials] == list(range(12))
    assert sum(b'"kind":"run"' in line for line in bench.lines()) == 1
    assert sum(b'"kind":"end"' in line for line in bench.lines()) == 1
    bench.assert_nothing_is_left()


@pytest.mark.parametrize(
    "wrong",
    [
        ["--option", "colour=red"],
        ["--learner-option", "colour=red"],
        ["--method", "no-such"],
        ["--method", "nowhere.py:Mine"],
        ["--task", "no-such"],
        ["--clock", "virtual"],
        ["--folds", "11"],
        ["--n-folds", "1000000"],
        ["--parallel", "0"],
    ],
)
def test_a_wrong_word_is_one_line_and_makes_no_file(bench, faulty, wrong: list[str]):
    one_line(bench.run(*faulty(budget=60), *SHORT, *wrong), 2)
    assert not bench.results.exists()


def test_a_learner_that_is_not_for_the_problem_makes_no_trace(bench, faulty):
    words = [word.replace("Faulty", "Classifier") for word in faulty(budget=60)]
    one_line(bench.run(*words, *SHORT), 2, "regression", "binary")
    assert bench.traces() == []
    bench.assert_nothing_is_left()


def test_a_method_that_can_not_be_replayed_is_told_apart_and_its_trace_kept(bench, faulty, methods):
    words = [*faulty(budget=60, seconds=0.05, method=methods("Unsteady")), "--max-trials", "12"]
    running = bench.start(*words)
    bench.wait_for_trials(3)
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=90)
    before = bench.trace_path().read_bytes()
    one_line(bench.run(*words), 2, "trial 0 of the trace is not what method", "--force")
    assert bench.trace_path().read_bytes() == before
    bench.assert_nothing_is_left()
