"""Runs on the virtual clock, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.records import DataRef, RunSpec
from cfo_bench.results.run import Run
from cfo_bench.results.schema import TrialRecord
from cfo_bench.run import runner
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage
from tests.helpers.runs import RunRecords


@pytest.fixture
def page(tmp_path: Path) -> Iterator[LivePage]:
    """A cleared live page."""
    page = LivePage.own(tmp_path / "t.live")
    page.clear()
    yield page
    page.close(remove=True)


@pytest.fixture
def run(page: LivePage) -> RunRecords:
    """The records of a run; each trial is taken off the page, as it is when its line is written."""

    def records(wanted: RunSpec, past: Run | None = None) -> list[Any]:
        data = DataRef("synthetic-1k", "synthetic")
        job = Job(wanted, data, Path("t.jsonl"), {"machine": {"cpu": "of here"}})
        found = []
        for record in runner.run(job, past, page, "it was interrupted"):
            if isinstance(record, TrialRecord):
                page.remove(record.number)
            found.append(record)
        return found

    return records
