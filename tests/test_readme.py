"""What the README shows is true. tests/test_docs.py sees to its links, commands and library examples."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from cfo_bench.results.schema import TrialRecord
from tests.helpers import pages

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return pages.blocks(TEXT, language)


def cfo_bench(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cfo_bench", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


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


def test_the_method_of_the_readme_runs(tmp_path: Path) -> None:
    [(name, source)] = re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)^```", TEXT, re.M | re.S)
    (tmp_path / name).write_text(source, encoding="utf-8")
    (command,) = [
        command for command in pages.commands(TEXT) if any(word.startswith(name) for word in command)
    ]
    short = ["--budget", "60", "--max-trials", "20", "--folds", "0", "--json", "-q"]

    answer = cfo_bench(tmp_path, *command, *short)

    assert answer.returncode == 0, answer.stderr
    rows = {row["method"]: row for row in json.loads(answer.stdout)}
    assert rows["HillClimb"]["trials"] == rows["cfo"]["trials"] == 20
    header = (tmp_path / "results/xgboost/wine/HillClimb/fold-0_seed-0.jsonl").read_text().splitlines()[0]
    assert json.loads(header)["spec"]["options"] == {"share": 0.5}


def test_the_class_is_about_twelve_lines() -> None:
    (source,) = blocks("python")

    code = [line for line in source.splitlines() if line.strip() and not line.startswith(("import", "from"))]

    assert len(code) <= 15


def test_the_table_shown_has_the_columns_of_the_program() -> None:
    from cfo_bench.terminal.summary_table import _COLUMNS

    headings = [line for line in "\n".join(blocks("text")).splitlines() if line.startswith("task ")]

    # Of one learner, without a test part.
    columns = [name for name in _COLUMNS if name not in ("learner", "test score")]
    assert [re.split(r"  +", line) for line in headings] == [columns]


def test_the_annotated_trial_has_every_key_of_a_trial() -> None:
    (example,) = blocks("jsonc")
    without_config = re.sub(r'"config": \{.*?\}', '"config": 0', example)

    of_one_at_a_time = [key for key in TrialRecord.__struct_fields__ if key != "asked"]
    assert re.findall(r'"(\w+)":', without_config) == ["kind", *of_one_at_a_time]


def test_the_options_named_in_the_readings_exist() -> None:
    from cfo_bench.optimizers import METHODS

    text = TEXT + (ROOT / "docs" / "readings.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)=(\w+)`", text))
    options = {option.name for name in ("cfo", "cfo-0") for option in METHODS.described_options(name)}

    assert len(named) >= 6
    for key, value in named:
        assert key in options, f"{key}={value}"
        name = "cfo-0" if key == "step" else "cfo"
        METHODS.options(name, {key: {"true": True, "false": False}.get(value, value)})
