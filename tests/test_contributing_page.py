"""The tour of the code in CONTRIBUTING.md names files, folders, targets and names that exist."""

from __future__ import annotations

import re

import pytest

from tests.helpers.program import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", TEXT, re.MULTILINE))
STEPS = re.findall(r"^(\d+)\. (.+)$", SECTIONS["The path of a trial"], re.MULTILINE)
# What is named in code and is a file or a folder: it has a suffix, or a slash at its end.
PATH = re.compile(r"`([\w./-]+(?:\.(?:py|pyi|md|yml|toml|lock|cff)|/))`")


def test_the_path_of_a_trial_has_ten_steps() -> None:
    assert [int(number) for number, _ in STEPS] == list(range(1, 11))


@pytest.mark.parametrize(("number", "step"), STEPS)
def test_every_step_names_a_module(number: str, step: str) -> None:
    modules = [path for path in PATH.findall(step) if path.endswith(".py")]

    assert modules
    assert [path for path in modules if not (ROOT / "cfo_bench" / path).is_file()] == []


def test_every_file_and_folder_that_the_page_names_exists() -> None:
    paths = {path for path in PATH.findall(TEXT) if not path.startswith("../")}

    assert len(paths) > 50
    roots = (ROOT, ROOT / "cfo_bench")
    assert [path for path in sorted(paths) if not any((root / path).exists() for root in roots)] == []


def test_every_class_that_a_step_names_is_in_a_module_of_the_step() -> None:
    for _, step in STEPS:
        modules = [ROOT / "cfo_bench" / path for path in PATH.findall(step) if path.endswith(".py")]
        source = "\n".join(path.read_text(encoding="utf-8") for path in modules)
        for name in re.findall(r"`([A-Z][a-z]\w+)`", step):
            assert re.search(rf"\bclass {name}\b", source), name


def test_every_make_target_that_the_page_names_exists() -> None:
    targets = set(
        re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )

    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", TEXT, re.MULTILINE)) <= targets
