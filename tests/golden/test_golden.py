"""Traces, suites and results folders of version 0.2.0: later versions give the same answers.

`data/` is fixed. `expected/` has the answers of 0.2.0; `make.py` says when to write them anew. Everything
goes through the command line and the documented functions, so that the inside may change freely.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden import answers
from tests.golden.answers import (
    BAD_SUITES,
    CASES,
    DAMAGED,
    DATA,
    EXPECTED,
    REFUSED,
    RESUMED,
    cfo_bench,
    counted,
    expected_path,
    good,
    lines_of,
    run_words,
)
from tests.golden.make import compact
from tests.golden.record import COMMANDS

# The relative difference that two floats may have: an order of additions is not a result.
TOLERANCE = 1e-9
# What differs from one machine, moment or version to the next.
OF_THE_MOMENT = {"utc", "machine", "cfo_bench", "python", "packages", "program", "schema"}
# What differs where an option is given that was the default.
OF_THE_DEFAULTS = {"command", "changed_options"}
# The runs that are made again, of each folder, by words that are added to its command. On the wall clock
# the seconds and all that follows from them differ.
FIRST_FOLD = ["--folds", "0"]
ONE_TASK = [
    f"--only=synthetic-5d/synthetic-1k/{name}/fold-0_seed-0"
    for name in ("cfo", "cfo-0", "rs", "tpe", "smac", "bohb")
]
FRESH = {"recorded": FIRST_FOLD, "methods": ONE_TASK, "parallel": [], "program": []}
FRESH_ON_THE_WALL_CLOCK = {
    "real": ["--only=xgboost/iris/cfo/fold-0_seed-0"],
    "holdout": FIRST_FOLD,
    "failed": [],
}
# Since 0.2.0: facts of a header, and settings with their defaults.
NEWER_FACTS, NEWER_SETTINGS = {"metric_facts", "own_code"}, {"metric": None}
# These compute in floating point with libraries that use the processor's vector unit.
NOT_BY_THE_BYTE = {"tpe", "smac", "bohb"}


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with answers.workplace(tmp_path_factory.mktemp("place")) as folder:
        yield folder


def differences(answer: Any, expected: Any, where: str = "") -> list[str]:
    """The places where two answers differ, with both values."""
    if isinstance(expected, dict) and isinstance(answer, dict):
        keys = [f"{where}: {sorted(answer)} and {sorted(expected)}"] if set(answer) != set(expected) else []
        both = [key for key in expected if key in answer]
        return keys + [
            line for key in both for line in differences(answer[key], expected[key], f"{where}/{key}")
        ]
    if isinstance(expected, list) and isinstance(answer, list):
        count = (
            [f"{where}: {len(answer)} and {len(expected)} entries"] if len(answer) != len(expected) else []
        )
        pairs = enumerate(zip(answer, expected, strict=False))
        return count + [
            line for at, (one, other) in pairs for line in differences(one, other, f"{where}/{at}")
        ]
    if is_number(answer) and is_number(expected):
        is_same = math.isclose(answer, expected, rel_tol=TOLERANCE, abs_tol=1e-12)
    else:
        is_same = type(answer) is type(expected) and answer == expected
    return [] if is_same else [f"{where}: {answer!r} and {expected!r}"]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def assert_same(answer: Any, expected: Any) -> None:
    found = differences(answer, expected)
    assert not found, f"{len(found)} differences (now, before):\n" + "\n".join(found[:20])


# --- the answers of 0.2.0 -------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_that_of_version_0_2_0(name: str) -> None:
    answer = json.loads(compact(CASES[name]()))

    assert_same(answer, json.loads(expected_path(name).read_text(encoding="utf-8")))


def test_every_expected_answer_belongs_to_a_case() -> None:
    assert {path.name for path in EXPECTED.iterdir()} == {expected_path(name).name for name in CASES}


def test_every_damaged_trace_and_every_suite_has_its_facts() -> None:
    assert {path.name for path in (DATA / "damaged").iterdir()} == set(DAMAGED)
    assert {path.stem for path in (DATA / "suites").glob("*.yaml")} == {*BAD_SUITES, *answers.GOOD_SUITES}


@pytest.mark.parametrize("name", BAD_SUITES)
def test_a_bad_suite_is_refused_in_one_line_with_its_line_key_and_value(name: str) -> None:
    line, facts = BAD_SUITES[name]

    answer = cfo_bench("run", f"suites/{name}.yaml", "--dry-run")

    assert answer.exit_code == 2 and not answer.out
    assert answer.err.count("\n") == 1 and f"suites/{name}.yaml" in answer.err
    assert re.findall(rf"{name}\.yaml, line (\d+)", answer.err) == ([] if line is None else [str(line)])
    after = answer.err.replace(f"suites/{name}.yaml", "")
    assert all(re.search(rf"(?<![\w-]){re.escape(fact)}(?![\w])", after) for fact in facts), answer.err


def test_the_schema_accepts_every_good_trace_and_refuses_most_damaged_ones() -> None:
    refused = {Path(path).parts[:2] for path in CASES["schema, lines that it refuses"]()}

    assert {first for first, _ in refused} == {"damaged"}
    # What takes several lines to see is not in the schema of a line.
    in_several_lines = {"second-header", "trial-twice", "gap", "wrong-count", "lines-after-the-end"}
    in_several_lines |= {"ended-before-started"}
    assert {second for _, second in refused} == {*REFUSED, "torn-last-line"} - in_several_lines


# --- runs made now --------------------------------------------------------------------------------


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a trace, without what a header contains since 0.2.0."""
    header, *lines = [json.loads(line) for line in lines_of(path)]
    for fact in NEWER_FACTS:
        header.pop(fact, None)
    assert all(header["spec"].pop(setting, default) == default for setting, default in NEWER_SETTINGS.items())
    return [header, *lines]


def traces_of(folder: str | Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in sorted(Path(folder).rglob("*.jsonl"))}


# Keys that 0.2.0 did not write. On the virtual clock they are left out: such lines are compared by the byte.
NEWER_KEYS = {"cpu_seconds", "method_cpu_seconds", "learner_threads", "method_threads"}


def keys_of(row: dict[str, Any]) -> dict[str, list[str]]:
    """The keys of a line in their order, and those of the mappings in it."""
    excluded = {"packages", *OF_THE_DEFAULTS}
    inner = {key: value for key, value in row.items() if isinstance(value, dict) and key not in excluded}
    return {
        where: [key for key in keys if key not in NEWER_KEYS] for where, keys in {"": row, **inner}.items()
    }


def run_afresh(folder: str, *words: str) -> dict[str, tuple[Path, Path]]:
    """Run the command of a folder again elsewhere: for each trace the new file and the golden one."""
    cfo_bench(*run_words(folder), *words, "--results", f"fresh-{folder}", "-q")
    golden = traces_of(folder)
    return {name: (path, golden[name]) for name, path in traces_of(f"fresh-{folder}").items()}


def assert_same_format(now: Path, golden: Path) -> None:
    """The same kinds of lines with the same keys, and the same header but for what is of the moment."""
    rows, before = rows_of(now), rows_of(golden)
    assert [row["kind"] for row in rows] == [row["kind"] for row in before]
    assert list(map(keys_of, rows)) == list(map(keys_of, before))
    assert settled(rows[0]) == settled(before[0])


def settled(header: dict[str, Any]) -> dict[str, Any]:
    """The header without what may differ. The option `delta_lower` had another name for the same rule."""
    options = {key: value for key, value in header["spec"]["options"].items() if key != "delta_lower"}
    kept = {key: value for key, value in header.items() if key not in OF_THE_MOMENT | OF_THE_DEFAULTS}
    return kept | {"spec": header["spec"] | {"options": options}}


@pytest.mark.parametrize("folder", FRESH)
def test_a_run_made_now_on_the_virtual_clock_is_the_golden_one(folder: str) -> None:
    pairs = run_afresh(folder, *FRESH[folder])

    assert len(pairs) >= 2
    for now, golden in pairs.values():
        assert_same_format(now, golden)
        rows, before = rows_of(now), rows_of(golden)
        if rows[0]["spec"]["method"] in NOT_BY_THE_BYTE:
            for end in (rows[-1], before[-1]):
                end |= {"trials_crc32": 0, "digest_crc32": 0}
            assert_same(rows[1:], before[1:])
        else:
            assert lines_of(now)[1:] == lines_of(golden)[1:]


@pytest.mark.parametrize("folder", ["grown", "grown-trials"])
def test_a_run_extended_now_is_the_golden_one(folder: str) -> None:
    first, second = map(answers.words_of, COMMANDS[folder])

    good(*first, "--results", f"fresh-{folder}", "-q")
    good(*second, "--results", f"fresh-{folder}", "-q")

    now, golden = traces_of(f"fresh-{folder}"), traces_of(folder)
    assert list(now) == list(golden)
    for name, path in golden.items():
        assert_same_format(now[name], path)
        before = rows_of(path)
        assert any(row["kind"] == "resume" and row["limits"] for row in before)
        of_the_moment = {"utc": "", "node": "", "why": ""}
        for row, expected in zip(rows_of(now[name])[1:], before[1:], strict=True):
            is_resume = expected["kind"] == "resume"
            assert_same(
                row | of_the_moment if is_resume else row, expected | of_the_moment if is_resume else expected
            )


@pytest.mark.parametrize("folder", FRESH_ON_THE_WALL_CLOCK)
def test_a_run_made_now_on_the_wall_clock_has_the_format_and_statuses_of_the_golden_one(folder: str) -> None:
    pairs = run_afresh(folder, *FRESH_ON_THE_WALL_CLOCK[folder])

    assert pairs
    for now, golden in pairs.values():
        assert_same_format(now, golden)
        trials, before = (
            [(row["number"], row["status"]) for row in rows_of(path) if row["kind"] == "trial"]
            for path in (now, golden)
        )
        assert trials == before


@pytest.mark.parametrize("folder", [name for name in RESUMED if name != "parallel"])
def test_a_resumed_run_has_the_trials_of_one_that_was_not_stopped(folder: str) -> None:
    resumed, whole = answers.copied(folder, "stopped-once"), f"whole-{folder}"
    words = [*run_words(folder), *RESUMED[folder], "-q", "--results"]

    good(*words, resumed)
    good(*words, whole)

    now = traces_of(resumed)
    assert list(now) == list(traces_of(whole))
    for name, path in traces_of(whole).items():
        assert counted(lines_of(now[name])) == counted(lines_of(path))


def sorted_keys(row: dict[str, Any]) -> dict[str, list[str]]:
    return {where: sorted(keys) for where, keys in keys_of(row).items()}


def test_an_import_made_now_has_the_trials_of_the_golden_one() -> None:
    for command in COMMANDS["imported"]:
        good(*answers.shlex.split(command), "--results", "imported-now")

    now = traces_of("imported-now")
    assert list(now) == list(traces_of("imported"))
    for name, path in traces_of("imported").items():
        assert lines_of(now[name])[1:] == lines_of(path)[1:]
        header, golden = rows_of(now[name])[0], rows_of(path)[0]
        assert header["data"].pop("target") is None  # 0.2.0 left it out
        assert sorted_keys(header) == sorted_keys(golden)  # in any order: 0.2.0 put the space last
        for one in (header, golden):
            del one["imported"]["utc"], one["imported"]["cfo_bench_version"]
        assert_same({**header, "utc": "", "schema": 1}, {**golden, "utc": ""})
