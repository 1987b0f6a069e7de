"""`scripts/install.sh` names the Debian packages that are missing to build a package from source."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = ("scripts/install.sh", "cfo_bench/errors.py")  # all that it needs before pip runs
PROGRAMS = ("bash", "dirname", "cat", "cksum", "grep", "rm", "awk")
REMEDY = "on Debian: apt install gcc python3-dev"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project whose environment is made, but has no pip, so that nothing is installed."""
    project = tmp_path / "project"
    for name in FILES:
        (project / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, project / name)
    (project / "pyproject.toml").write_text("")
    (project / "requirements.lock").write_text("netifaces==0.11.0\n")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", project / ".venv"], check=True)
    (project / ".venv" / ".made-in").write_text(f"{project}\n")
    return project


def install(checkout: Path, *programs: str) -> tuple[list[str], str]:
    """The lines on stdout and the last one on stderr, with a PATH of a few programs."""
    path = checkout / "bin"
    path.mkdir()
    for name in (*PROGRAMS, *programs):
        program = shutil.which(name)
        assert program is not None
        (path / name).symlink_to(program)
    answer = subprocess.run(
        ["bash", "scripts/install.sh"],
        cwd=checkout,
        env={"PATH": str(path), "HOME": os.environ["HOME"], "CC": "cc"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 1
    return answer.stdout.splitlines(), answer.stderr.splitlines()[-1]


def test_without_a_compiler_the_first_line_and_the_last_name_the_packages(checkout: Path) -> None:
    lines, last = install(checkout)

    assert lines[0].startswith("install: to build the package netifaces, install a C compiler")
    assert lines[0].endswith(REMEDY)
    assert REMEDY in last


def test_with_a_compiler_nothing_is_printed_about_it(checkout: Path) -> None:
    lines, last = install(checkout, "cc")

    assert lines[0].startswith("install: installing 1 pinned packages")
    assert REMEDY not in last
