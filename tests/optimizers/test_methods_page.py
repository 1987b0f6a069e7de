"""docs/methods.md names every method and family, with where it is from."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfo_bench.optimizers import METHODS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in METHODS.listed() if not name.startswith("exec:")])
def test_the_page_has_the_method_and_its_link(name: str) -> None:
    row = METHODS.listed()[name]

    assert f"`{name}`" in PAGE
    assert row.source in PAGE
    assert f"`{row.group}`" in PAGE


def test_every_option_of_a_named_method_has_a_line_on_the_page() -> None:
    """Those of CFO are in readings.md; parallel, n_rows and the like are set by the run."""
    ours = ("cfo", "flow2", "rs", "study", "constant", "tuned-rf")
    missing = [
        f"{name}: {option.name}"
        for name in METHODS.builtin
        if not name.startswith(ours) and METHODS.row(name).missing is None
        for option in METHODS.described_options(name)
        if option.name != "parallel" and f"`{option.name}`" not in PAGE
    ]

    assert missing == []
