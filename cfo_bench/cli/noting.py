"""What a person should find in `cfo-bench status`, though no trace can say it: noted as the runs go on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cfo_bench.engines.listener import Active, Listener
from cfo_bench.results import plan
from cfo_bench.run.runner import Job
from cfo_bench.run.supervisor import Outcome, Verdict


class NotingFailures:
    """Shows the progress to `shown`, and notes why a run failed that has no end in its trace."""

    def __init__(self, results: Path, shown: Listener) -> None:
        self._results, self._shown = results, shown

    def tick(self, active: Sequence[Active]) -> None:
        self._shown.tick(active)

    def said(self, text: str) -> None:
        self._shown.said(text)

    def finished(self, job: Job, verdict: Verdict) -> None:
        if verdict.outcome is Outcome.FAILED and verdict.end is None:
            plan.record_failure(self._results, job.spec, verdict.message or "")
        self._shown.finished(job, verdict)
