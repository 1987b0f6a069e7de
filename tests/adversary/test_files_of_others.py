"""A results folder that somebody else sends makes no command delete or write files outside of it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.helpers.commands import Commands, no_stack_trace, one_line, virtual


@pytest.fixture
def precious(commands: Commands) -> Path:
    """A file of the user's, outside of everything that is named to a command."""
    path = commands.folder / "outside" / "precious.txt"
    path.parent.mkdir()
    path.write_text("mine")
    return path


def report(commands: Commands) -> None:
    no_stack_trace(commands("report", "results", "--format", "csv"), 0, 2)


def name_in_manifest(commands: Commands, *names: str) -> None:
    """The report's list of its files names others too."""
    manifest = commands.results / "report" / ".cache" / "manifest.json"
    row = orjson.loads(manifest.read_bytes())
    row["files"] |= dict.fromkeys(names, "")
    manifest.write_bytes(orjson.dumps(row))


@pytest.mark.parametrize("how", ["absolute", "by the parent", "through a link", "behind a folder of its own"])
def test_the_report_deletes_no_file_outside_that_its_manifest_names(
    commands: Commands, precious: Path, how: str
):
    assert commands(*virtual()).returncode == 0
    report(commands)
    (commands.results / "report" / "link").symlink_to(precious.parent)
    names = {
        "absolute": str(precious),
        "by the parent": "../../outside/precious.txt",
        "through a link": "link/precious.txt",
        "behind a folder of its own": "synthetic/../../../outside/precious.txt",
    }
    name_in_manifest(commands, names[how])
    report(commands)
    assert precious.read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["thesis.txt", "../runs.plan", "../synthetic/synthetic-1k/rs/fold-0_seed-0.jsonl"]
)
def test_the_report_deletes_no_file_that_no_report_made(commands: Commands, name: str):
    assert commands(*virtual()).returncode == 0
    report(commands)
    path = commands.results / "report" / name
    if not path.exists():
        path.write_text("mine")
    name_in_manifest(commands, name)
    before = path.read_bytes()
    report(commands)
    assert path.read_bytes() == before


@pytest.mark.parametrize("names", [["\0"], ["n" * 300], ["x/" * 3000], [""], ["."], ["synthetic"]])
def test_names_that_no_file_has_are_no_stack_trace(commands: Commands, names: list[str]):
    assert commands(*virtual()).returncode == 0
    report(commands)
    name_in_manifest(commands, *names)
    report(commands)


@pytest.mark.parametrize("file", ["index.html", "synthetic/tables/overview.csv", ".cache/manifest.json"])
def test_the_report_writes_through_no_link(commands: Commands, precious: Path, file: str):
    assert commands(*virtual()).returncode == 0
    report(commands)
    place = commands.results / "report" / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(precious)
    no_stack_trace(commands("report", "results", "--format", "csv,html"), 0, 2)
    assert precious.read_text() == "mine"


def test_a_report_folder_that_is_a_link_has_to_be_named(commands: Commands, precious: Path):
    assert commands(*virtual()).returncode == 0
    (commands.results / "report").symlink_to(precious.parent)
    one_line(commands("report", "results", "--format", "csv"), 2, "link", "-o")
    assert [path.name for path in precious.parent.iterdir()] == ["precious.txt"]
    no_stack_trace(commands("report", "results", "-o", "results/report", "--format", "csv"), 0)
    assert (precious.parent / "synthetic" / "tables" / "overview.csv").is_file()


@pytest.mark.parametrize("suffix", [".jsonl", ".live", ".log"])
@pytest.mark.parametrize("content", ["mine", ""])
def test_a_run_writes_through_no_link(commands: Commands, precious: Path, suffix: str, content: str):
    precious.write_text(content)
    before = precious.stat()
    place = commands.results / "synthetic" / "synthetic-1k" / "rs" / f"fold-0_seed-0{suffix}"
    place.parent.mkdir(parents=True)
    place.symlink_to(precious)
    no_stack_trace(commands(*virtual()), 0, 2)
    assert precious.read_text() == content
    assert precious.stat().st_mtime_ns == before.st_mtime_ns


def test_a_plan_is_written_through_no_link(commands: Commands, precious: Path):
    commands.results.mkdir()
    (commands.results / "runs.plan").symlink_to(precious)
    no_stack_trace(commands(*virtual()), 0, 2)
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("name", ["runs.plan", "synthetic/synthetic-1k/rs/fold-0_seed-0.jsonl"])
def test_a_merge_writes_through_no_link(commands: Commands, precious: Path, name: str):
    assert commands(*virtual()).returncode == 0
    link = commands.folder / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(precious)
    no_stack_trace(commands("merge", "results", "-o", "out"), 0, 1, 2)
    assert precious.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "link", "exit_code"),
    [
        ("-o trials.csv", "trials.csv", 0),  # written as a whole: the link is replaced
        ("-o trials.parquet", "trials.parquet", 0),
        ("--to optuna trials.log", "trials.log", 2),  # added to
        ("--to optuna sqlite:///trials.db", "trials.db", 2),
        ("--to optuna sqlite:///file:trials.db?uri=true", "trials.db", 2),
        ("--to optuna sqlite:///file:tri%61ls.db?uri=true", "trials.db", 2),
        ("--to deepcave runs", "runs/synthetic--synthetic-1k--rs--fold-0_seed-0", 2),
    ],
)
@pytest.mark.parametrize("target", ["outside/precious.txt", "outside/new"])
def test_an_export_writes_through_no_link(
    commands: Commands, precious: Path, words: str, link: str, exit_code: int, target: str
):
    assert commands(*virtual()).returncode == 0
    place = commands.folder / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(commands.folder / target)

    answer = commands("export", "results", *words.split(), "--force")

    no_stack_trace(answer, exit_code)
    assert place.is_symlink() == (exit_code != 0)
    assert [path.name for path in precious.parent.iterdir()] == ["precious.txt"]
    assert precious.read_text() == "mine"
