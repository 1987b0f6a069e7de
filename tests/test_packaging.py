"""The wheel holds what it must and nothing else, and works away from the checkout."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from cfo_bench import __version__

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def distribution(requirement: str) -> str:
    """The normalised name of a requirement: `scikit-learn>=1.9,<2` is `scikit-learn`."""
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def pins() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {distribution(name): version for name, version in pairs}


# --- the wheel --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's content, as pip lays it out."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*command, "--target", str(folder), str(wheel)], check=True)
    return folder


def test_the_wheel_holds_every_file_of_the_package_the_suites_and_no_other(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    files = {path for path in (ROOT / "cfo_bench").rglob("*") if path.is_file()}
    expected = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}
    suites = {f"cfo_bench/configs/{path.name}" for path in (ROOT / "configs").iterdir()}
    assert held == expected | suites
    assert {"cfo_bench/py.typed", "cfo_bench/configs/smoke.yaml"} <= held


def test_the_wheel_carries_version_and_licence(wheel: Path) -> None:
    info = f"cfo_bench-{__version__}.dist-info"

    names = zipfile.ZipFile(wheel).namelist()

    assert f"{info}/METADATA" in names
    assert f"{info}/licenses/LICENSE" in names


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["methods", "--json"], ["learners", "--json"], ["tasks", "--json"], ["schema"]],
)
def test_the_installed_command_answers_from_any_folder(
    installed: Path, tmp_path: Path, arguments: list[str]
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    where = "import cfo_bench; print(cfo_bench.__file__)"

    def run(*command: str) -> str:
        answer = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    assert Path(run("-c", where).strip()).is_relative_to(installed), "the checkout answered, not the wheel"
    answer = run("-m", "cfo_bench", *arguments)
    if arguments == ["--version"]:
        assert __version__ in answer
    else:
        assert json.loads(answer)


def test_a_suite_that_comes_with_the_package_is_found_from_any_folder(
    installed: Path, tmp_path: Path
) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "cfo_bench", "run", "smoke", "--method", "rs", "--list"],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(installed)},
    )  # fmt: skip

    assert answer.returncode == 0, answer.stderr
    assert len(answer.stdout.splitlines()) == 6


def test_the_schema_that_a_suite_names_is_there_in_the_wheel_and_in_a_checkout(installed: Path) -> None:
    for folder in (installed / "cfo_bench" / "configs", ROOT / "configs"):
        suites = list(folder.glob("*.yaml"))
        assert suites
        for suite in suites:
            named = suite.read_text(encoding="utf-8").splitlines()[0].partition("$schema=")[2]
            schema = json.loads((suite.parent / named).read_text(encoding="utf-8"))
            assert schema["title"] == "A suite of cfo-bench"


def test_the_console_script_names_a_function_that_exists() -> None:
    module, _, function = PROJECT["scripts"]["cfo-bench"].partition(":")

    assert callable(getattr(importlib.import_module(module), function))


# --- what is declared -------------------------------------------------------------------------


def test_every_declared_package_is_pinned_in_the_lock() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = {distribution(line) for group in [PROJECT["dependencies"], *extras.values()] for line in group}

    assert declared - {"cfo-bench"} <= set(pins())


def test_the_lock_is_plain_pins() -> None:
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.]+", line), line


def test_the_changelog_has_notes_of_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert re.search(rf"^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)


def test_the_pythons_that_are_declared_are_those_of_the_workflow() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    matrix = re.search(r"python: \[(.*)\]", workflow)
    declared = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if "Python :: 3" in one]

    assert matrix is not None
    assert re.findall(r"[\d.]+", matrix[1]) == declared == ["3.11", "3.12", "3.13"]


def test_the_citation_names_this_version() -> None:
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
