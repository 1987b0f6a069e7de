"""What docs/extending.md shows is true: its plug-ins run, pass their contracts, and import from one place."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cfo_bench.engines import ENGINES
from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Status
from cfo_bench.report.sections import SECTIONS
from cfo_bench.results.run import Run, read_run
from cfo_bench.tasks.sources import plugin_tasks as task_sources

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FILES: dict[str, str] = dict(
    re.findall(r"^<!-- file: (\S+) -->\n```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All files of the page, as a reader would write them."""
    for name, source in FILES.items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    return tmp_path


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def run_as_shown(folder: Path, file: str) -> Run:
    """The trace of the page's command for a file, with fewer trials."""
    (command,) = [line for line in blocks("console") if file in line]
    program, *arguments = shlex.split(command)
    assert program == "cfo-bench"
    done = python(folder, "-m", "cfo_bench", *arguments, "--max-trials", "5")
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("results/*/*/*/*.jsonl")
    run = read_run(path, parse_trials=True)
    assert run is not None
    return run


def test_every_python_block_is_a_file_that_is_tested() -> None:
    assert len(blocks("python")) == len(FILES) == 6


def test_the_plug_ins_import_from_the_public_modules_only() -> None:
    imported = {
        node.module
        for source in FILES.values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cfo_bench")
    }

    assert imported == {"cfo_bench.plugins", "cfo_bench.testing"}


def test_the_method_of_the_page_runs_by_its_command(folder: Path) -> None:
    run = run_as_shown(folder, "dice.py")

    assert len(run.trials) == 5
    assert run.spec.options == {"sides": 8}


@pytest.mark.slow
def test_the_learner_of_the_page_runs_by_its_command(folder: Path) -> None:
    run = run_as_shown(folder, "tree.py")

    assert [trial.status for trial in run.trials] == [Status.OK] * 5
    assert run.trials[0].test_score is not None
    assert run.spec.learner_options == {"criterion": "entropy"}


@pytest.mark.slow  # a pytest of its own
def test_the_plug_ins_of_the_page_pass_their_contracts(folder: Path) -> None:
    done = python(
        folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", f"--rootdir={folder}"
    )

    assert done.returncode == 0, done.stdout + done.stderr


TWO_RUNS = "--learner synthetic-5d --task synthetic-1k --method cfo --method rs --folds 0 --max-trials 20"


def report_with(folder: Path, target: str) -> subprocess.CompletedProcess[str]:
    """A report on two small runs, with a package in the folder that has one section."""
    package = folder / "mine-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", encoding="utf-8")
    (package / "entry_points.txt").write_text(f"[{SECTIONS.group}]\nmine = {target}\n", encoding="utf-8")
    done = python(folder, "-m", "cfo_bench", "run", *TWO_RUNS.split(), "--budget", "60")
    assert done.returncode == 0, done.stderr
    return python(folder, "-m", "cfo_bench", "report", "results")


def test_the_section_of_the_page_is_in_the_report_of_its_package(folder: Path) -> None:
    done = report_with(folder, "incumbent_times:IncumbentTimes")

    assert done.returncode == 0, done.stderr
    report = folder / "results" / "report"
    page = (report / "index.html").read_text(encoding="utf-8")
    assert 'id="synthetic-5d-incumbent-times"' in page
    assert (report / "synthetic-5d" / "figures" / "incumbent-times.png").stat().st_size > 1000
    table = (report / "synthetic-5d" / "tables" / "incumbent-times.csv").read_text(encoding="utf-8")
    header, *rows = table.splitlines()
    assert header == "method,improvement,seconds"
    assert {row.split(",")[0] for row in rows} == {"cfo", "rs"}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("return 'text'", "its build() returned str and no SectionContent"),
        (
            "return SectionContent(tables=(Table('overview', 'T', '', ('a',), [[1]]),))",
            "another section has a table or figure 'overview'",
        ),
    ],
)
def test_a_section_that_fails_is_one_line_that_names_it(folder: Path, build: str, message: str) -> None:
    (folder / "broken.py").write_text(
        "from cfo_bench.plugins import Section, SectionContent, Table\n"
        "class Broken(Section):\n"
        "    name = title = 'broken'\n"
        f"    def build(self, results):\n        {build}\n",
        encoding="utf-8",
    )

    done = report_with(folder, "broken:Broken")

    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("cfo-bench: section")]
    assert line.startswith("cfo-bench: section 'mine' of a plug-in failed: correct or uninstall it")
    assert message in line


def test_a_package_names_its_classes_in_the_groups_that_are_read() -> None:
    (example,) = blocks("toml")

    groups = tomllib.loads(example)["project"]["entry-points"]

    assert set(groups) == {
        METHODS.group,
        LEARNERS.group,
        ENGINES.group,
        SECTIONS.group,
        task_sources.GROUP,
    }
