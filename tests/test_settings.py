"""A setting of a run is declared once: everything else follows from that."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfo_bench.errors import UserError
from cfo_bench.records import RunSpec
from cfo_bench.settings import Setting, Settings, settings_of
from cfo_bench.values import mark

ROOT = Path(__file__).resolve().parents[1]
LAST_LINE = "    charge_method: bool = setting("
PATIENCE = '    patience: int | None = setting(None, Count(), "Give up after so many trials.")\n'

Call = Callable[..., str]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the project in which one more setting is declared, in one line."""
    kept = shutil.ignore_patterns("__pycache__")
    for name in ("cfo_bench", "scripts", "configs"):
        shutil.copytree(ROOT / name, tmp_path / "copy" / name, ignore=kept)
    (tmp_path / "copy" / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "suites.md", tmp_path / "copy" / "docs")
    file = tmp_path / "copy" / "cfo_bench" / "settings.py"
    before, found, after = file.read_text(encoding="utf-8").partition(LAST_LINE)
    assert found
    file.write_text(f"{before}{PATIENCE}{found}{after}", encoding="utf-8")
    return tmp_path / "copy"


@pytest.fixture
def call(checkout: Path, tmp_path: Path) -> Call:
    """Runs Python on the copy, in a folder beside it; what it prints, or the error that it ends with."""

    def run(line: str, exit_code: int = 0) -> str:
        answer = subprocess.run(
            [sys.executable, *shlex.split(line)], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(checkout)},
        )  # fmt: skip
        assert answer.returncode == exit_code, answer.stderr
        return answer.stdout if exit_code == 0 else answer.stderr

    return run


def test_one_line_declares_a_setting_everywhere(call: Call, checkout: Path, tmp_path: Path) -> None:
    # The option on the command line, with its help.
    assert "--patience N" in call("-m cfo_bench run --help")

    # The key of a suite file with its rule, the header of a trace, and the command that repeats the run.
    (tmp_path / "suite.yaml").write_text(
        "tasks: synthetic-1k\nlearners: synthetic\nmethods: rs\nclock: virtual\nbudget: 9\nmax_trials: 2\n"
        "folds: [0, 1]\npatience: 5\nresults: traces\n"
    )
    (tmp_path / "wrong.yaml").write_text("tasks: iris\npatience: never\n")
    said = call("-m cfo_bench run wrong.yaml", exit_code=2)
    assert said == "cfo-bench: wrong.yaml, line 2: patience is 'never': write a whole number from 1 on\n"
    call("-m cfo_bench run suite.yaml -q --folds 0")
    call("-m cfo_bench run suite.yaml -q --folds 1 --patience 7")
    folder = tmp_path / "traces" / "synthetic" / "synthetic-1k" / "rs"
    first, second = (
        json.loads((folder / f"fold-{fold}_seed-0.jsonl").read_text(encoding="utf-8").splitlines()[0])
        for fold in (0, 1)
    )
    assert (first["spec"]["patience"], second["spec"]["patience"]) == (5, 7)
    assert "--patience 5" in first["command"] and "--patience 7" in second["command"]
    (again,) = call(f"-m cfo_bench {first['command'].removeprefix('cfo-bench ')} --dry-run").splitlines()
    assert again == f"{first['command']} --results results"

    # Both schemas, and the table of keys.
    call("copy/scripts/schemas.py")
    suite = json.loads((checkout / "configs" / "suite.schema.json").read_text(encoding="utf-8"))
    trace = json.loads(call("-m cfo_bench schema trace"))
    text = "Give up after so many trials."
    assert suite["properties"]["patience"] == {"$ref": "#/$defs/count", "description": text}
    spec = trace["$defs"]["RunSpec"]
    assert spec["properties"]["patience"]["description"] == text
    assert "patience" not in spec["required"]  # traces of older versions don't have it
    assert f"| `patience` | | {text} |" in (checkout / "docs/suites.md").read_text(encoding="utf-8")


def test_the_files_are_what_the_code_makes_now() -> None:
    """`make schemas` writes them."""
    spec = importlib.util.spec_from_file_location("schemas", ROOT / "scripts" / "schemas.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    made = script.made()

    assert sorted(path.name for path in made) == ["suite.schema.json", "suites.md"]
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is out of date: run `make schemas`"


def test_a_setting_is_called_like_its_field_unless_it_says_otherwise() -> None:
    known = {one.name: one for one in settings_of(Settings)}

    assert (known["max_trials"].key, known["max_trials"].flags) == ("max_trials", ["--max-trials"])
    assert (known["budget_seconds"].key, known["budget_seconds"].flags) == ("budget", ["--budget"])


SCALARS = (
    st.sampled_from(["1h30m", "4GB", "1e-3", "1e4", "0", "wall", "virtual", "fold", "holdout", ""])
    | st.integers(-2, 2**40)
    | st.floats()
    | st.booleans()
    | st.none()
)


@pytest.mark.parametrize("one", settings_of(Settings), ids=lambda one: one.name)
@given(SCALARS)
def test_what_is_read_is_right_in_a_trace_and_can_be_read_again(one: Setting, written: object) -> None:
    try:
        value = one.kind.read(one.key, mark(written))
    except UserError:
        return

    assert msgspec.convert(value, get_type_hints(RunSpec, include_extras=True)[one.name]) == value
    assert one.kind.read(one.key, mark(value)) == value


@pytest.mark.parametrize("one", settings_of(Settings), ids=lambda one: one.name)
def test_a_default_is_a_value_that_one_could_write(one: Setting) -> None:
    assert one.default is None or one.kind.read(one.key, mark(one.default)) == one.default
