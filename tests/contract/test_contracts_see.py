"""The contracts are worth something: each of their checks fails for a plug-in that breaks it."""

from __future__ import annotations

import inspect
import os
import runpy
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cfo_bench.testing import EngineContract, LearnerContract, MethodContract, TaskSourceContract

ROOT = Path(__file__).resolve().parents[2]
BROKEN = Path(__file__).parent / "broken"

# A contract, the attribute that names the plug-in, and the file of plug-ins.
CONTRACTS = [
    pytest.param(MethodContract, "method", "methods.py", id="methods"),
    pytest.param(LearnerContract, "learner", "learners.py", id="learners"),
    pytest.param(EngineContract, "engine", "engines.py", id="engines", marks=pytest.mark.slow),
    pytest.param(TaskSourceContract, "source", "task_sources.py", id="task sources"),
]


def failed_checks(folder: Path, test_file: str, wanted: list[str]) -> set[tuple[str, str]]:
    """The class and the name of each check that failed among those wanted, by a pytest of its own."""
    (folder / "test_all.py").write_text(test_file, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml"]
    done = subprocess.run(
        [*command, f"--rootdir={folder}", *(f"test_all.py::{name}" for name in wanted)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    return {
        (case.attrib["classname"].rpartition(".")[2], case.attrib["name"].partition("[")[0])
        for case in ElementTree.parse(folder / "report.xml").iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    }


@pytest.mark.timeout(300)  # a pytest of its own, and an engine that hears no signal
@pytest.mark.parametrize(("contract", "attribute", "file"), CONTRACTS)
def test_every_check_sees_what_it_is_there_to_see(
    tmp_path: Path, contract: type, attribute: str, file: str
) -> None:
    """An honest plug-in passes all of them; a broken one fails the check that it breaks."""
    plugins = {
        f"Test{name}": plugin
        for name, plugin in runpy.run_path(str(BROKEN / file)).items()
        if inspect.isclass(plugin) and hasattr(plugin, "breaks")
    }
    classes = []
    for name, plugin in plugins.items():
        settings = {attribute: f"{BROKEN / file}:{plugin.__name__}", **getattr(plugin, "settings", {})}
        lines = [f"    {key} = {value!r}" for key, value in settings.items()]
        classes.append("\n".join([f"class {name}({contract.__name__}):", *lines, ""]))
    honest = [name for name, plugin in plugins.items() if plugin.breaks is None]
    broken = {(name, plugin.breaks) for name, plugin in plugins.items() if plugin.breaks is not None}

    failed = failed_checks(
        tmp_path,
        "\n\n".join([f"from cfo_bench.testing import {contract.__name__}\n", *classes]),
        [*honest, *(f"{name}::{check}" for name, check in broken)],
    )

    assert failed == broken
    assert {check for _, check in broken} == {name for name in dir(contract) if name.startswith("test_")}
