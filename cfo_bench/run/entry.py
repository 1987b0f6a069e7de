"""Where a run's process starts.

The supervisor names this function. It does not import the loop, the learners or the methods into the
process that supervises: they are imported here, in the run's process or the one it is forked from.
"""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

from cfo_bench.run.job import Job


def run_job(job: Job, page_path: Path, log_path: Path, answer: Connection, fresh: bool, why: str) -> None:
    """See process.main."""
    from cfo_bench.run import process

    process.main(job, page_path, log_path, answer, fresh, why)
