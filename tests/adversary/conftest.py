"""What a user, or somebody who means harm, would meet: whole commands in a folder of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.commands import Commands

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test with many cases, `make test` runs the first one, and `make test-full` all of them."""
    seen = set()
    for item in items:
        if item.path.parent == HERE and isinstance(item, pytest.Function):
            test = (item.path, item.originalname)
            if test in seen:
                item.add_marker(pytest.mark.slow)
            seen.add(test)


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    found = Commands(tmp_path)
    yield found
    found.clean_up()
