"""Kinds of cases: what is put into a folder, which commands read it, and what must come of it."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from shlex import split
from typing import Any

import orjson

from cfo_bench.cli import merge as cli_merge
from cfo_bench.report import build
from tests.fuzz import damage, foreign, odd, texts
from tests.fuzz.checks import Answer, Failure, call, failures_of, untouched

# Runs that no case damages: each command has to count them, whatever lies beside them.
WHOLE_TASK, WHOLE_METHODS, WHOLE_FOLDS = "synthetic-30k", ("rs", "cfo"), (0, 1)
WHOLE_RUNS = len(WHOLE_METHODS) * len(WHOLE_FOLDS)
# Runs that cases damage: another task, so that what is wrong with them is no matter for the whole ones.
TASK, METHOD, TRIALS = "synthetic-1k", "rs", 5
# How many inputs a case has: runs are numbered through the folds of one seed, then through those of the next.
FOLDS, TRACES, PAGES, NAMES = 8, 192, 8, 8

# A learner on the wall clock, where a run that was killed keeps what its live page has.
WALL_LEARNER = f"{Path(__file__).resolve().parents[1] / 'plugins' / 'learners.py'}:Faulty"
_WALL = ["run", "--learner", WALL_LEARNER, "--learner-option", "seconds=0.001"]
_WALL += f"--budget 600 --max-trials {TRIALS} --memory 2000 --task {TASK} --method {METHOD} -q".split()
_RUN = f"run --learner synthetic --budget 60 --max-trials {TRIALS} --clock virtual -q".split()


@dataclass(frozen=True)
class Job:
    """One case; `only` are some of its inputs, to find the guilty one of many."""

    kind: str
    index: int
    only: range | None = None

    def __str__(self) -> str:
        only = "" if self.only is None else f":{self.only.start}-{self.only.stop - 1}"
        return f"{self.kind}:{self.index}{only}"

    @classmethod
    def parse(cls, text: str) -> Job:
        kind, index, *only = text.split(":")
        if not only:
            return cls(kind, int(index))
        first, last = map(int, only[0].split("-"))
        return cls(kind, int(index), range(first, last + 1))

    def halves(self) -> list[Job]:
        """The same case with either half of its inputs; none where it has one input."""
        inputs = self.only if self.only is not None else INPUTS.get(self.kind, range(1))
        middle = len(inputs) // 2
        return [replace(self, only=half) for half in (inputs[:middle], inputs[middle:])] if middle else []


@dataclass
class Done:
    """What came of a case: its inputs in words, the commands that were run, and what was wrong."""

    inputs: list[str] = field(default_factory=list)
    commands: int = 0
    failures: list[Failure] = field(default_factory=list)


class Templates:
    """Whole files that cases damage: a results folder with its report, and traces on either clock."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._spare = folder, folder / "spare"
        results = folder / "results"
        _make(*_whole_runs(), "--results", str(results))
        _make("report", str(results), "-o", str(folder / "report"), "--format", "csv,html")

    @cached_property
    def traces(self) -> Sequence[bytes]:
        _make(*_RUN, "--task", TASK, "--method", METHOD, *_runs(range(TRACES)), "--results", str(self._spare))
        return [trace_path(self._spare, number).read_bytes() for number in range(TRACES)]

    @cached_property
    def wall_traces(self) -> Sequence[bytes]:
        _make(*_WALL, *_runs(range(PAGES)), "--results", str(self._spare))
        return [trace_path(self._spare, number, "Faulty").read_bytes() for number in range(PAGES)]

    @property
    def a_trace(self) -> bytes:
        """One of those in the results folder."""
        path = self.folder / "results" / "synthetic" / WHOLE_TASK / "rs" / "fold-0_seed-0.jsonl"
        return path.read_bytes()


def _make(*words: str) -> None:
    answer = call(words)
    if answer.exit_code:
        raise RuntimeError(f"no template by {words}: {answer.err or answer.crash}")


def trace_path(results: Path, number: int, learner: str = "synthetic") -> Path:
    seed, fold = divmod(number, FOLDS)
    return results / learner / TASK / METHOD / f"fold-{fold}_seed-{seed}.jsonl"


def _runs(numbers: Sequence[int]) -> list[str]:
    """The options for the runs with these numbers: they have to be all folds of some seeds, or one."""
    seeds, folds = ({divmod(number, FOLDS)[part] for number in numbers} for part in (0, 1))
    assert len(seeds) * len(folds) == len(numbers)
    return [
        *(word for seed in sorted(seeds) for word in ("--seed", str(seed))),
        "--folds",
        ",".join(map(str, sorted(folds))),
    ]


def _whole_runs() -> list[str]:
    methods = [word for method in WHOLE_METHODS for word in ("--method", method)]
    return [*_RUN, "--task", WHOLE_TASK, *methods, "--folds", ",".join(map(str, WHOLE_FOLDS))]


class Case:
    """A folder for one case: `work` is where commands are run, `outside` is nobody's business."""

    def __init__(self, root: Path, templates: Templates, seed: str, said: Callable[[str], None]) -> None:
        self.root, self._templates, self._seed, self.said = root, templates, seed, said
        self.work, self.outside = root / "work", root / "outside"
        self.results, self.report, self.merged = (
            self.work / "results",
            self.work / "report",
            self.work / "merged",
        )
        self.done = Done()
        _remove(root)
        self.work.mkdir(parents=True)
        self.outside.mkdir()
        (self.outside / "precious.txt").write_text("mine")
        (self.outside / "precious.jsonl").write_bytes(templates.a_trace)
        (self.outside / "folder").mkdir()
        (self.outside / "folder" / "precious.csv").write_text("mine")
        os.chdir(self.work)

    def rng(self, number: int) -> random.Random:
        """The generator of one input: the same whether the others are made or not."""
        return random.Random(f"{self._seed}/{number}")

    def whole_results(self) -> None:
        shutil.copytree(self._templates.folder / "results", self.results)

    def trace_path(self, number: int, learner: str = "synthetic") -> Path:
        return trace_path(self.results, number, learner)

    @property
    def templates(self) -> Templates:
        return self._templates

    def call(
        self, *words: str, writes: Sequence[Path] = (), by: Callable[[Sequence[str]], Answer] = call
    ) -> Answer:
        """A command, and the checks that hold for all."""
        self.said(words[0])
        with untouched(self.root, writes, words[0], self.done.failures):
            answer = by(words)
        self.done.commands += 1
        self.done.failures += failures_of(answer)
        return answer

    def fail(self, signature: str, detail: str = "") -> None:
        self.done.failures.append(Failure(signature, detail))

    # --- the commands that read a results folder ---

    def status(self) -> Answer:
        answer = self.call("status", str(self.results), "--json")
        if answer.exit_code == 0 and answer.crash is None:
            found = [
                run
                for run in json.loads(answer.out)
                if run["task"] == WHOLE_TASK and run["progress"] == "done"
            ]
            if len(found) != WHOLE_RUNS:
                self.fail("status: whole traces are not counted", f"{len(found)} of {WHOLE_RUNS}")
        elif answer.crash is None:
            self.fail("status: whole traces are not counted", answer.err[-200:])
        return answer

    def report_it(self) -> Answer:
        words = ["report", str(self.results), "-o", str(self.report), "--format", "csv,html"]
        with every_refusal_named():
            answer = self.call(*words, writes=[self.report])
        if answer.crash is None:
            counted = self._counted_by_report()
            if counted != WHOLE_RUNS:
                self.fail(
                    "report: whole traces are not counted", f"{counted} of {WHOLE_RUNS}; {answer.err[-200:]}"
                )
        return answer

    def _counted_by_report(self) -> int:
        table = self.report / "synthetic" / "tables" / "data.csv"
        with suppress(OSError, KeyError, ValueError), table.open(newline="", errors="replace") as file:
            return sum(int(row["runs"]) for row in csv.DictReader(file) if row["task"] == WHOLE_TASK)
        return 0

    def merge(self) -> Answer:
        with every_refusal_named():
            answer = self.call("merge", str(self.results), "-o", str(self.merged), writes=[self.merged])
        if answer.crash is None and answer.exit_code == 0:
            found = len(list((self.merged / "synthetic" / WHOLE_TASK).rglob("*.jsonl")))
            if found != WHOLE_RUNS:
                self.fail("merge: whole traces are not copied", f"{found} of {WHOLE_RUNS}")
        elif "nothing was written" in answer.err and any(self.merged.rglob("*.jsonl")):
            self.fail("merge: it wrote traces though it says that it did not", answer.err[-200:])
        return answer

    def run(self) -> Answer:
        """The whole runs again: they are done, and stay as they are."""
        before = self._whole_traces()
        answer = self.call(*_whole_runs(), "--results", str(self.results), writes=[self.results])
        if self._whole_traces() != before:
            self.fail("run: it changed a finished trace", answer.err[-200:])
        return answer

    def resume(self, numbers: Sequence[int], learner: str = "synthetic") -> Answer:
        """The damaged runs again: what is refused stays as it is."""
        before = {number: self.trace_path(number, learner).read_bytes() for number in numbers}
        words = [*_RUN, "--task", TASK, "--method", METHOD] if learner == "synthetic" else _WALL
        words = [*words, *_runs(numbers), "--results", str(self.results)]
        answer = self.call(*words, writes=[self.results])
        for number, content in before.items():
            path = self.trace_path(number, learner)
            if self.refuses(answer, path) and (not path.exists() or path.read_bytes() != content):
                self.fail("run: it refused a trace and changed it", answer.err[-200:])
        return answer

    def _whole_traces(self) -> dict[str, bytes]:
        folder = self.results / "synthetic" / WHOLE_TASK
        return {str(path): path.read_bytes() for path in folder.rglob("*.jsonl") if path.is_file()}

    def refuses(self, answer: Answer, path: Path, why: str = "") -> bool:
        """Whether the answer names the trace, and why; but not as one of two whole ones of the same run."""
        name = os.path.relpath(path, self.results)
        whole = (f"{name} and ", f" and {path}")
        return any(
            name in line and why in line and not any(one in line for one in whole)
            for line in answer.err.splitlines()
        )


@contextmanager
def every_refusal_named() -> Iterator[None]:
    """`merge` and `report` name every file that they refuse, so that they can be compared with `status`."""
    before = cli_merge._MAX_CONFLICTS, build._MOST_UNREADABLE
    cli_merge._MAX_CONFLICTS = build._MOST_UNREADABLE = sys.maxsize
    try:
        yield
    finally:
        cli_merge._MAX_CONFLICTS, build._MOST_UNREADABLE = before


# --- the kinds ------------------------------------------------------------------------------------


def traces(case: Case, only: range | None) -> None:
    """Damaged traces beside whole ones, many at once."""
    case.whole_results()
    numbers = only or range(TRACES)
    for number in numbers:
        what, data = damage.trace(case.templates.traces[number], case.rng(number))
        path = case.trace_path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        case.done.inputs.append(what)
    inputs = dict(zip(numbers, case.done.inputs, strict=True))
    answers = [case.status(), case.report_it(), case.merge()]
    case.call("status", str(case.results))
    is_fine = all(answer.crash is None for answer in answers)
    refused_by = {
        number: [answer.command for answer in answers if case.refuses(answer, case.trace_path(number))]
        for number in numbers
    }
    for number, what in inputs.items():
        # Merge alone compares the digest with the trials: after a change of the budget it no longer fits.
        if refused_by[number] == ["merge"] and case.refuses(answers[2], case.trace_path(number), "digest"):
            continue
        if is_fine and refused_by[number] and len(refused_by[number]) < len(answers):
            case.fail(
                "status, report and merge disagree on what a whole trace is",
                f"refused by {refused_by[number]}: {what}",
            )
    rng = case.rng(-1)
    if rng.random() < 0.25:
        case.run()
    # One conflict keeps `merge` from writing: what it takes, it has to write where nothing is refused.
    refused = {number: case.trace_path(number) for number in numbers if refused_by[number]}
    aside = {number: path.rename(path.with_suffix(".aside")) for number, path in refused.items()}
    case.merge()
    for number, path in aside.items():
        path.rename(refused[number])
    # `run` stops at the first trace that is wrong: hence one at a time.
    for number in rng.sample(numbers, min(2, len(numbers))):
        answer = case.resume([number])
        if (
            is_fine
            and answer.crash is None
            and len(refused_by[number]) == len(answers)
            and not case.refuses(answer, case.trace_path(number))
        ):
            case.fail("run takes a trace that the others refuse", inputs[number])


def pages(case: Case, only: range | None) -> None:
    """Traces that were cut off, each with a live page."""
    case.whole_results()
    numbers = only or range(PAGES)
    for number in numbers:
        rng = case.rng(number)
        lines = case.templates.wall_traces[number].splitlines(keepends=True)
        told = rng.randrange(0, TRIALS - 1)
        on_page = [line.strip() for line in lines[1 + told : 1 + min(told + rng.randrange(1, 3), TRIALS)]]
        what, data = damage.page(on_page, rng)
        path = case.trace_path(number, "Faulty")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(lines[: 1 + told]))
        path.with_suffix(".live").write_bytes(data)
        case.done.inputs.append(what)
    inputs = dict(zip(numbers, case.done.inputs, strict=True))
    case.status()
    case.report_it()
    case.merge()
    resumed = case.resume(numbers, "Faulty")
    for number, what in inputs.items():
        if any(f" fold {number}: " in line and "asks for now" in line for line in resumed.err.splitlines()):
            continue  # a whole trial, but not the one that the method had asked for: it was noticed
        ended = _trials(case.trace_path(number, "Faulty").read_bytes())
        whole = _trials(case.templates.wall_traces[number])
        wanted = whole[: len(ended)] if what != "whole" else whole
        if [(one.get("number"), one.get("config")) for one in ended] != [
            (one["number"], one["config"]) for one in wanted
        ]:
            case.fail("run: after a live page the trials are others", what)
    answers = [
        case.status(),
        case.report_it(),
        case.call("merge", str(case.results), "-o", "again", writes=[case.work / "again"]),
    ]
    for number, what in inputs.items():
        for answer in answers:
            if case.refuses(answer, case.trace_path(number, "Faulty")):
                case.fail(f"run: after a live page it writes a trace that {answer.command} refuses", what)


def _trials(trace: bytes) -> list[dict[str, Any]]:
    return [
        row
        for line in trace.splitlines()
        if line.startswith(b'{"kind":"trial"')
        for row in [orjson.loads(line)]
    ]


def caches(case: Case, only: range | None) -> None:
    """A report's folder as somebody else sends it: with a cache that names files of ours."""
    case.whole_results()
    shutil.copytree(case.templates.folder / "report", case.report)
    (case.report / "theirs").symlink_to(case.outside)
    (case.report / "own.txt").write_text("not of a report")
    cache = case.report / ".cache"
    rng = case.rng(0)
    files = [
        "../../outside/precious.txt", str(case.outside / "precious.txt"), "theirs/precious.txt",
        "theirs/folder/precious.csv", "../results/runs.plan",
        f"../results/synthetic/{WHOLE_TASK}/rs/fold-0_seed-0.jsonl", ".", "..", "", "/", "own.txt", "\0",
        "a\0b", odd.LONG_NAME, "x/" * 3000, "index.html/x", "synthetic", ".cache/manifest.json",
        "assets/../../../outside/precious.txt",
    ]  # fmt: skip
    what, data = damage.manifest((cache / "manifest.json").read_bytes(), files, rng)
    (cache / "manifest.json").write_bytes(data)
    case.done.inputs.append(what)
    case.report_it()
    if not (case.report / "own.txt").exists():
        case.fail("report: it deleted a file that no report made", what)
    case.report_it()


def links(case: Case, only: range | None) -> None:
    """A report's folder in which places that a report writes to are links to files of ours."""
    case.whole_results()
    shutil.copytree(case.templates.folder / "report", case.report)
    rng = case.rng(0)
    made = sorted(path for path in case.report.rglob("*") if path.is_file())
    path = rng.choice(
        [*made, case.report / ".cache", case.report / "synthetic", case.report / "synthetic" / "tables"]
    )
    if path.is_dir():
        shutil.move(path, case.outside / "moved")
        path.symlink_to(case.outside / "moved")
    else:
        path.unlink()
        path.symlink_to(case.outside / "precious.txt")
    case.done.inputs.append(f"{path.relative_to(case.report)} is a link")
    case.call(
        "report", str(case.results), "-o", str(case.report), "--format", "csv,html", writes=[case.report]
    )
    page = case.trace_path(0).with_suffix(rng.choice([".live", ".log", ".jsonl"]))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.symlink_to(case.outside / "precious.jsonl")
    case.done.inputs.append(f"{page.name} is a link")
    words = [*_RUN, "--task", TASK, "--method", METHOD, "--folds", "0", "--results", str(case.results)]
    case.call(*words, writes=[case.results])


def plans(case: Case, only: range | None) -> None:
    case.whole_results()
    path = case.results / "runs.plan"
    what, data = damage.plan(path.read_bytes(), case.rng(0))
    path.write_bytes(data)
    case.done.inputs.append(what)
    case.status()
    case.call("status", str(case.results))
    case.merge()
    both = case.work / "both"
    case.call("merge", str(case.results), str(case.merged), "-o", str(both), writes=[both])
    if case.rng(1).random() < 0.2:
        case.run()


def _own_files(case: Case) -> None:
    (case.work / "sales.csv").write_text(texts.SALES)
    (case.work / "tasks.yaml").write_text(texts.TABLE)
    (case.work / "data").mkdir()
    (case.work / "data" / "index.csv").write_text(texts.INDEX)
    (case.work / "data" / "sales.csv").write_text(texts.SALES)


def suites(case: Case, only: range | None) -> None:
    _own_files(case)
    what, data = texts.yaml_file(texts.SUITE, case.rng(0))
    (case.work / "suite.yaml").write_bytes(data)
    case.done.inputs.append(what)
    case.call("run", "suite.yaml", "--dry-run", "--offline")
    case.call("run", "suite.yaml", "--list", "--offline")
    case.call("prepare", "suite.yaml", "--offline")


def tables(case: Case, only: range | None) -> None:
    _own_files(case)
    what, data = texts.yaml_file(texts.TABLE, case.rng(0))
    (case.work / "tasks.yaml").write_bytes(data)
    case.done.inputs.append(what)
    case.call("tasks", "--tasks", "tasks.yaml")
    case.call("tasks", "--tasks", "tasks.yaml", "--json")
    case.call("tasks", "show", "sales", "--tasks", "tasks.yaml", "--offline")
    case.call(*split("run --task sales --tasks tasks.yaml --method rs --budget 5 --dry-run --offline"))
    case.call(*split("prepare --task sales --tasks tasks.yaml --offline"))


def indexes(case: Case, only: range | None) -> None:
    _own_files(case)
    what, data = texts.index(case.rng(0))
    (case.work / "data" / "index.csv").write_bytes(data)
    case.done.inputs.append(what)
    case.call("tasks", "--data-dir", "data")
    case.call("tasks", "--data-dir", "data", "--here", "--json")
    case.call("tasks", "show", "sales", "--data-dir", "data", "--offline")
    case.call(*split("run --task sales --data-dir data --method rs --budget 5 --dry-run --offline"))
    case.call(*split("prepare --task sales --data-dir data --offline"))


def names(case: Case, only: range | None) -> None:
    """Odd files and folders beside whole traces; and odd names on the command line."""
    case.whole_results()
    for number in only or range(NAMES):
        with suppress(OSError):  # a name that this file system does not take
            case.done.inputs.append(_odd_thing(case, case.rng(number)))
    case.status()
    case.report_it()
    case.merge()
    case.call("status", str(case.results))
    case.run()
    given = os.fsdecode(odd.name(case.rng(NAMES)))
    case.call("status", given)
    # A name that is an option leaves the folder to its default, `results`.
    case.call("report", given, "--format", "csv,html", writes=[case.results / "report"])
    case.call("merge", given, str(case.results), "-o", "elsewhere", writes=[case.work / "elsewhere"])
    case.call(
        "report", str(case.results), "-o", f"new/{given}", "--format", "csv", writes=[case.work / "new"]
    )
    for word in ("--task", "--method", "--learner", "--data", "--tasks", "--data-dir"):
        case.call(*f"run --task {TASK} --method rs --budget 5 --dry-run --offline".split(), word, given)


def _odd_thing(case: Case, rng: random.Random) -> str:
    """One odd file or folder below the results."""
    folder = os.fsencode(case.results)
    for _ in range(rng.randrange(4)):
        folder = os.path.join(folder, rng.choice([odd.name(rng), b"synthetic", TASK.encode(), b"rs"]))
    os.makedirs(folder, exist_ok=True)
    kind = rng.choice(
        [
            "file", "file", "folder", "link to a file", "link to a folder", "loop", "dangling link",
            "unreadable", "socket", "fifo", "device",
        ]
    )  # fmt: skip
    suffix = rng.choice([b".jsonl", b".jsonl", b".live", b".interrupted", b".log", b""])
    place = os.path.join(folder, odd.name(rng)[: 255 - len(suffix)] + suffix)
    if kind == "file":
        with open(place, "wb") as file:
            file.write(rng.choice([b"", b"x", case.templates.traces[0], case.templates.traces[1]]))
    elif kind == "folder":
        os.mkdir(place)
    elif kind == "link to a file":
        os.symlink(os.fsencode(case.outside / "precious.jsonl"), place)
    elif kind == "link to a folder":
        os.symlink(os.fsencode(case.outside), place)
    elif kind == "loop":
        os.symlink(b".", place)
    elif kind == "dangling link":
        os.symlink(b"nowhere", place)
    elif kind == "unreadable":
        os.mkdir(place)
        os.chmod(place, 0)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(os.path.relpath(place)[:90])
    elif kind == "fifo":
        os.mkfifo(place)
    else:
        os.symlink(b"/dev/zero" if suffix != b".live" else b"/dev/null", place)
    return f"{kind} {os.path.relpath(place, os.fsencode(case.results))!r}"


def pipes(case: Case, only: range | None) -> None:
    """A FIFO, which never ends and never begins, in the place of each file that is read."""
    case.whole_results()
    _own_files(case)
    shutil.copytree(case.templates.folder / "report", case.report)
    path = case.rng(0).choice(
        [
            case.trace_path(2), case.results / "x.jsonl", case.results / "runs.plan",
            case.work / "suite.yaml", case.work / "tasks.yaml", case.work / "data" / "index.csv",
            case.work / "sales.csv", case.report / ".cache" / "manifest.json",
            case.trace_path(2).with_suffix(".interrupted"),
        ]
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    case.done.inputs.append(f"{path.relative_to(case.work)} is a FIFO")
    if path.is_relative_to(case.results) or path.is_relative_to(case.report):
        case.status()
        case.report_it()
        case.merge()
    else:
        case.call("tasks", "--tasks", "tasks.yaml", "--data-dir", "data")
        case.call("tasks", "show", "sales", "--tasks", "tasks.yaml", "--offline")
        case.call(*split("run suite.yaml --dry-run --offline --method rs --budget 5 --task iris"))


KINDS: dict[str, Callable[[Case, range | None], None]] = {
    "traces": traces,
    "pages": pages,
    "caches": caches,
    "links": links,
    "plans": plans,
    "suites": suites,
    "tables": tables,
    "indexes": indexes,
    "names": names,
    "pipes": pipes,
    **foreign.KINDS,
}
# Inputs of a case that has several: half of them, and half of the half, are tried to find the guilty one.
INPUTS: dict[str, range] = {"traces": range(TRACES), "pages": range(PAGES), "names": range(NAMES)}
# How many cases of each kind in one round: most inputs are traces, and the slow kinds are few.
ROUND = {
    "traces": 8,
    "pages": 8,
    "caches": 20,
    "links": 4,
    "plans": 16,
    "suites": 40,
    "tables": 24,
    "indexes": 12,
    "names": 4,
    "pipes": 2,
    "imports": 120,
    "surrogates": 60,
    "strangers": 60,
    "comparisons": 20,
}


def jobs() -> Iterator[Job]:
    """Cases without end. Each kind is spread over the round, so that a short run has cases of all kinds."""
    places = [(step / times, kind, step) for kind, times in ROUND.items() for step in range(times)]
    for number in count():
        for _, kind, step in sorted(places):
            yield Job(kind, number * ROUND[kind] + step)


def carry_out(job: Job, seed: int, root: Path, templates: Templates, said: Callable[[str], None]) -> Done:
    case = Case(root, templates, f"{seed}/{job.kind}/{job.index}", said)
    try:
        KINDS[job.kind](case, job.only)
    finally:
        os.chdir("/")
    return case.done


def _remove(root: Path) -> None:
    if root.exists():
        for folder, folders, _ in os.walk(os.fsencode(root)):
            for name in folders:
                path = os.path.join(folder, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o755)
        shutil.rmtree(os.fsencode(root))
