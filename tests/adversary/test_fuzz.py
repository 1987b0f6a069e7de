"""A short part of `make fuzz`, and whether the fuzzer sees what it is there to see."""

from __future__ import annotations

import os
import random
from itertools import islice
from pathlib import Path

import pytest

from cfo_bench.registry import label
from tests.fuzz import checks, damage
from tests.fuzz.cases import KINDS, Job, jobs
from tests.fuzz.driver import fuzz

TRACE = b'{"kind":"run","spec":{"seed":0}}\n{"kind":"trial","number":0}\n{"kind":"end","trials":1}\n'

# Inputs in all: 192 a case of traces, 8 of pages and names, 2 of links, 1 of the others.
CASES = {
    "traces": 2,
    "pages": 2,
    "caches": 10,
    "links": 3,
    "plans": 8,
    "suites": 40,
    "tables": 20,
    "indexes": 20,
    "names": 3,
    "pipes": 3,
    "imports": 60,
    "surrogates": 15,
    "strangers": 15,
    "comparisons": 20,
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", CASES)
def test_damaged_and_hostile_inputs_break_no_command(kind: str):
    counts = fuzz((Job(kind, index) for index in range(CASES[kind])), seed=1)

    assert counts.inputs.total() >= CASES[kind]
    assert not counts.failures, "\n".join(counts.lines(seed=1))


def test_a_short_run_has_cases_of_every_kind():
    assert {job.kind for job in islice(jobs(), len(KINDS))} == set(KINDS)


def test_the_same_seed_makes_the_same_damage():
    first, again = ([damage.trace(TRACE, random.Random(seed)) for seed in range(200)] for _ in range(2))

    assert first == again
    assert len({data for _, data in first}) > 100


def test_a_stack_trace_is_seen_and_its_place_is_named():
    with pytest.raises(TypeError) as crash:
        label(17)  # type: ignore[arg-type]
    answer = checks.Answer(["status"], -1, "", "", crash.value)

    [failure] = checks.failures_of(answer)
    assert failure.signature == "status: stack trace, TypeError in cfo_bench/registry.py:is_python_file"


def test_a_control_character_on_the_terminal_is_seen():
    [failure] = checks.failures_of(checks.Answer(["status"], 2, "", "no folder '\x1b[2J'\n"))

    assert failure.signature == "status: control character on stderr"


def test_a_mistake_of_the_user_is_no_failure(tmp_path: Path):
    answer = checks.call(["status", str(tmp_path / "absent")])

    assert answer.exit_code == 2 and list(checks.failures_of(answer)) == []


@pytest.mark.parametrize(
    ("harm", "how"),
    [
        (lambda path: path.unlink(), "deleted"),
        (lambda path: path.write_text("theirs"), "changed"),
        (lambda path: os.utime(path, (0, 0)), "changed"),
        (lambda path: path.with_name("new").write_text("theirs"), "made"),
    ],
)
def test_a_file_that_is_touched_outside_is_seen(tmp_path: Path, harm, how: str):
    precious, allowed = tmp_path / "precious.txt", tmp_path / "allowed"
    precious.write_text("mine")
    allowed.mkdir()
    failures: list[checks.Failure] = []

    with checks.untouched(tmp_path, [allowed], "report", failures):
        harm(precious)
        (allowed / "new").write_text("fine")

    assert [failure.signature.split()[:2] for failure in failures] == [["report:", how]]
