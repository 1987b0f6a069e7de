"""What the README shows is true, and what it links to as the rest.

tests/test_docs.py checks its links, commands and library example.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.helpers import pages

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
OWN_METHOD = (ROOT / "docs" / "own-method.md").read_text(encoding="utf-8")
READINGS = (ROOT / "docs" / "readings.md").read_text(encoding="utf-8")


def cfo_bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cfo_bench", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_it_has_at_most_200_lines() -> None:
    assert len(TEXT.splitlines()) <= 200


def test_the_first_screen_has_the_two_commands_that_do_everything() -> None:
    first_screen = "\n".join(TEXT.splitlines()[:20])
    commands = [
        line.partition("#")[0].strip() for line in "".join(pages.blocks(first_screen, "console")).splitlines()
    ]
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert commands == ["$ make demo", "$ make test"]
    assert {"demo", "test"} <= set(targets)


def test_the_check_of_a_commit_runs_exactly_make_test() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    run = [line for line in script if not line.startswith(("#", "set ", "cd ", "export "))]

    assert run == ["make test"]


def test_the_table_shown_has_the_columns_of_the_program() -> None:
    from cfo_bench.terminal.summary_table import _COLUMNS

    headings = [
        line for line in "\n".join(pages.blocks(TEXT, "text")).splitlines() if line.startswith("task ")
    ]

    # Of one learner, without a test part.
    columns = [name for name in _COLUMNS if name not in ("learner", "test score")]
    assert [re.split(r"  +", line) for line in headings] == [columns]


def test_every_extra_that_it_names_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    (paragraph,) = [line for line in TEXT.splitlines() if line.startswith("The extra `baselines`")]
    of_users = set(extras) - {"dev", "docs", "testing"}

    assert set(re.findall(r"`([a-z]+)`", paragraph)) == of_users


# --- the method of docs/own-method.md ----------------------------------------------------------


def method_of_the_page() -> tuple[str, str]:
    """Name and source of the first file of the page."""
    return re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)^```", OWN_METHOD, re.M | re.S)[0]


def test_the_method_of_the_page_runs_by_its_commands(tmp_path: Path) -> None:
    name, source = method_of_the_page()
    (class_name,) = re.findall(r"^class (\w+)", source, re.MULTILINE)
    (tmp_path / name).write_text(source, encoding="utf-8")
    commands = [
        command for command in pages.commands(OWN_METHOD) if any(word.startswith(name) for word in command)
    ]
    (with_option,) = [command for command in commands if "--option" in command]
    (compared,) = [command for command in commands if command is not with_option]
    option, _, value = with_option[with_option.index("--option") + 1].partition("=")
    short = ["--budget", "60", "--max-trials", "20", "--folds", "0", "--json", "-q"]

    answer = cfo_bench(tmp_path, *compared, *short)
    second = cfo_bench(tmp_path, *with_option, *short, "--results", "other")

    assert answer.returncode == 0, answer.stderr
    rows = {row["method"]: row for row in json.loads(answer.stdout)}
    assert rows[class_name]["trials"] == rows["cfo"]["trials"] == 20
    assert second.returncode == 0, second.stderr
    trace = tmp_path / "other" / "xgboost" / "wine" / class_name / "fold-0_seed-0.jsonl"
    header = json.loads(trace.read_text(encoding="utf-8").splitlines()[0])
    assert header["spec"]["options"] == {option.removeprefix(f"{class_name}."): float(value)}


def test_the_class_of_the_page_is_about_twelve_lines() -> None:
    _, source = method_of_the_page()

    code = [line for line in source.splitlines() if line.strip() and not line.startswith(("import", "from"))]

    assert len(code) <= 15


# --- the table of docs/readings.md -------------------------------------------------------------


def test_the_options_named_in_the_readings_exist() -> None:
    from cfo_bench.optimizers import METHODS

    named = set(re.findall(r"`(\w+)=(\w+)`", TEXT + READINGS))
    options = {option.name for name in ("cfo", "cfo-0") for option in METHODS.described_options(name)}

    assert len(named) >= 6
    for key, value in named:
        assert key in options, f"{key}={value}"
        name = "cfo-0" if key == "step" else "cfo"
        METHODS.options(name, {key: {"true": True, "false": False}.get(value, value)})


def test_the_table_of_the_readings_names_every_option_that_is_one() -> None:
    """`mode` and `parallel` are no readings, and `linear_span` is in the text on ranges that touch zero."""
    from cfo_bench.optimizers import METHODS

    table = "\n".join(line for line in READINGS.splitlines() if line.startswith("| "))
    options = {option.name for name in ("cfo", "cfo-0") for option in METHODS.described_options(name)}

    assert [
        name
        for name in sorted(options - {"mode", "parallel", "linear_span"})
        if not re.search(rf"`{name}\b", table)
    ] == []
