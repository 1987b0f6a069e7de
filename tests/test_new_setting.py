"""A setting is declared once: what it affects is followed by everything that compares or resumes runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# In a process of its own: the setting has to be declared before any other module reads the declarations.
PROGRAM = """
import dataclasses, json, sys
from pathlib import Path

from cfo_bench import records
from cfo_bench.settings import Affects, setting
from cfo_bench.values import Count

@dataclasses.dataclass(frozen=True)
class RunSpec(records.RunSpec):
    lamps: int = setting(
        1, Count(), "Lamps.", affects=Affects.COMPARISON | Affects.RESUME, plural="numbers of lamps"
    )

records.RunSpec = RunSpec

from cfo_bench.records import RunLimits
from cfo_bench.report.build import Request, build
from cfo_bench.results.comparability import check_resumable, comparable
from cfo_bench.results.merge import MergeConflict, merge
from cfo_bench.results.run import read_run
from cfo_bench.results.summary import comparable_traces
from cfo_bench.errors import TraceError
from tests.helpers.traces import write_run

here = Path(sys.argv[1])

def written(results, method, lamps):
    path = write_run(results, "t", method, 0, [(1.0, 0.4, 0.5), (2.0, 0.2, 0.5)])
    path.write_bytes(path.read_bytes().replace(b'"lamps":1', f'"lamps":{lamps}'.encode(), 1))
    return path

traces = {method: written(here / "a", method, lamps) for method, lamps in (("cfo", 1), ("rs", 1), ("tpe", 2))}
runs = {method: read_run(path) for method, path in traces.items()}
answers = {"comparable": [difference.name for difference in comparable(runs["cfo"], runs["tpe"])]}

try:
    check_resumable(traces["cfo"], runs["cfo"].header, dataclasses.replace(runs["cfo"].spec, lamps=3))
except TraceError as error:
    answers["resumable"] = str(error)

built = build(Request(here / "a", here / "report", formats=["csv"]))
answers["reported"] = [standing.method for standing in built.overviews[0].standings]
answers["warning"] = built.warnings[0]

beside = comparable_traces(here / "a", [traces["cfo"]], RunLimits(100.0))
answers["table after run"] = [path.parent.name for path in beside]

written(here / "b", "cfo", 5)
try:
    merge([here / "a", here / "b"], here / "merged", lambda page: [])
except MergeConflict as conflict:
    answers["merge"] = conflict.conflicts[0]
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each user of the declarations answers about runs with 1, 1 and 2 lamps."""
    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("lamps"))]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(arguments, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_two_runs_that_differ_in_it_are_not_comparable(answers: dict[str, Any]) -> None:
    assert answers["comparable"] == ["lamps"]


def test_a_run_is_not_resumed_with_another_value(answers: dict[str, Any]) -> None:
    assert "belongs to another run (lamps 1 there, 3 here)" in answers["resumable"]


def test_the_report_leaves_out_the_runs_with_another_value(answers: dict[str, Any]) -> None:
    assert sorted(answers["reported"]) == ["cfo", "rs"]
    assert "its runs have different numbers of lamps, 1 (2 runs) and 2 (1 run)" in answers["warning"]


def test_the_table_after_a_run_has_no_run_with_another_value(answers: dict[str, Any]) -> None:
    assert answers["table after run"] == ["rs"]


def test_copies_of_a_run_with_different_values_are_not_merged(answers: dict[str, Any]) -> None:
    assert "lamps" in answers["merge"]
