"""What a user, or somebody who means harm, would meet: whole commands in a folder of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.commands import Commands


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    found = Commands(tmp_path)
    yield found
    found.clean_up()
