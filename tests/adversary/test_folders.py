"""One results folder gives the same runs to every command, whatever else lies in it; merging has no order."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.fuzz.damage import whole_page
from tests.helpers.commands import Commands, faulty, no_stack_trace, one_line, virtual


def seen_by(commands: Commands) -> dict[str, set[str]]:
    """The tasks whose runs each command counts."""
    status = commands("status", "results", "--json")
    no_stack_trace(status, 0)
    report = commands("report", "results", "-o", "report", "--format", "csv")
    no_stack_trace(report, 0)
    merged = commands("merge", "results", "-o", "merged")
    no_stack_trace(merged, 0)
    data = (commands.folder / "report" / "synthetic" / "tables" / "data.csv").read_text().splitlines()[1:]
    return {
        "status": {run["task"] for run in json.loads(status.stdout) if run["progress"] == "done"},
        "report": {line.partition(",")[0] for line in data},
        "merge": {path.parts[-3] for path in (commands.folder / "merged").rglob("*.jsonl")},
    }


def test_a_folder_that_is_a_link_is_followed_by_no_command(commands: Commands):
    assert commands(*virtual(), "--task", "synthetic-30k").returncode == 0
    inside = commands.results / "synthetic" / "synthetic-30k"
    outside = commands.folder / "outside"
    inside.rename(outside)
    inside.symlink_to(outside)
    before = {path: path.stat().st_mtime_ns for path in outside.rglob("*")}

    for command, tasks in seen_by(commands).items():
        assert tasks == {"synthetic-1k"}, command
    one_line(commands(*virtual(task="synthetic-30k")), 2, "synthetic-30k", "link")
    one_line(commands(*virtual(task="synthetic-30k"), "--force"), 2, "synthetic-30k", "link")
    assert {path: path.stat().st_mtime_ns for path in outside.rglob("*")} == before


def test_a_folder_that_is_a_link_to_its_parent_ends_no_command(commands: Commands):
    assert commands(*virtual()).returncode == 0
    (commands.results / "again").symlink_to(".")
    for command, tasks in seen_by(commands).items():
        assert tasks == {"synthetic-1k"}, command


def test_an_unreadable_folder_is_named_by_every_command(commands: Commands):
    assert commands(*virtual(), "--task", "synthetic-30k").returncode == 0
    unreadable = commands.results / "synthetic" / "synthetic-30k"
    unreadable.chmod(0)
    try:
        answers = {
            "status": commands("status", "results"),
            "report": commands("report", "results", "-o", "report", "--format", "csv"),
            "merge": commands("merge", "results", "-o", "merged"),
            "run": commands(*virtual(task="synthetic-30k")),
        }
    finally:
        unreadable.chmod(0o755)
    name = str(unreadable.relative_to(commands.folder))
    for command, answer in answers.items():
        no_stack_trace(answer, 0, 1, 2)
        assert name in answer.stderr, f"{command}: {answer.stderr}"


def test_a_copy_of_a_trace_is_named_by_every_command(commands: Commands):
    assert commands(*virtual()).returncode == 0
    path = commands.trace_path()
    copy = path.with_name("fold-1_seed-0.jsonl")
    shutil.copy(path, copy)
    for words in (["status"], ["report", "--format", "csv"], ["merge", "-o", "merged"]):
        result = commands(words[0], "results", *words[1:])
        no_stack_trace(result, 0)
        [line] = [line for line in result.stderr.splitlines() if "exists twice" in line]
        assert path.name in line and copy.name in line


def copies_of_a_killed_run(commands: Commands) -> tuple[Path, Path]:
    """The same run on two machines: `a` was killed with a finished trial on its live page, `b` has none."""
    assert commands(*faulty(budget=60, seconds=0.01, at=-1), "--max-trials", 4).returncode == 0
    path = commands.trace_path()
    lines = path.read_bytes().splitlines(keepends=True)
    name = path.relative_to(commands.results)
    a, b = commands.folder / "a", commands.folder / "b"
    for folder in (a, b):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(b"".join(lines[:3]))
    (a / name).with_suffix(".live").write_bytes(whole_page(b"", b"".join(lines[3:5])))
    shutil.rmtree(commands.results)
    return a / name, b / name


def ended_at(line: bytes) -> float:
    return float(json.loads(line)["ended"])


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_merging_keeps_the_same_trials_in_either_order(commands: Commands):
    copies_of_a_killed_run(commands)
    assert commands("merge", "a", "b", "-o", "ab").returncode == 0
    assert commands("merge", "b", "a", "-o", "ba").returncode == 0
    assert tree(commands.folder / "ab") == tree(commands.folder / "ba")


def test_trials_on_a_live_page_outlive_a_merge_with_a_longer_copy(commands: Commands):
    a, b = copies_of_a_killed_run(commands)
    waiting = a.with_suffix(".live").read_bytes()
    third = waiting[waiting.index(b'{"kind":"trial"') :].split(b"\n")[0] + b"\n"
    b.write_bytes(b.read_bytes() + third)
    for order in (["a", "b"], ["b", "a"]):
        assert commands("merge", *order, "-o", "out").returncode == 0
        result = commands(*faulty(budget=60, seconds=0.01, at=-1), "--max-trials", 4, "--results", "out")
        assert result.returncode == 0, result.stderr
        [path] = (commands.folder / "out").rglob("*.jsonl")
        trials = [line for line in path.read_bytes().splitlines() if b'"kind":"trial"' in line]
        page = waiting[waiting.index(b'{"kind":"trial"') :].split(b"\n")[:2]
        assert list(map(ended_at, trials[2:])) == list(map(ended_at, page))
        shutil.rmtree(commands.folder / "out")
