"""The run's own process: method and training together, writing the trace as it goes."""

from __future__ import annotations

import math
import os
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

from cfo_bench.errors import CfoBenchError
from cfo_bench.machine.signals import die_with_parent, leave_stopping_to_others
from cfo_bench.records import TrialRecord
from cfo_bench.results import trace
from cfo_bench.run import runner
from cfo_bench.run.live_page import LivePage
from cfo_bench.run.search import describe

# Trials that end within so long of each other are written at once: a write takes a quarter of all that is
# done for a trial of a millisecond.
TOGETHER_SECONDS = 0.01


def main(job: runner.Job, live_path: Path, log_path: Path, answer: Connection, fresh: bool, why: str) -> None:
    """Runs the job and answers (exit code, message) when it could not; `fresh` starts its trace anew."""
    die_with_parent()
    leave_stopping_to_others()
    try:
        _redirect_output(log_path)
        past = None if fresh else trace.read(job.trace_path)
        with LivePage.join(live_path) as live, closing(runner.run(job, past, live, why)) as records:
            first = next(records)  # whatever stood there goes only now that there is something in its place
            with trace.TraceWriter(job.trace_path) as writer:
                if past is None:
                    writer.clear()
                writer.append(first)
                lines = _Lines(writer, live)
                for record in records:
                    if isinstance(record, TrialRecord):
                        lines.add(live.line(record), record.ended)
                    else:
                        lines.write(trace.encode(record))
                writer.sync()
    except CfoBenchError as error:
        log_path.unlink(missing_ok=True)
        answer.send((error.exit_code, str(error)))
    except Exception as error:
        answer.send((1, f"unexpected {describe(error)}; more in {log_path}"))
        raise


class _Lines:
    """Brings the cheapest trials to the trace together; until then the page keeps them safe from a kill."""

    def __init__(self, writer: trace.TraceWriter, live: LivePage) -> None:
        self._writer, self._live = writer, live
        self._written_at = -math.inf

    def add(self, line: bytes, now: float) -> None:
        if now - self._written_at >= TOGETHER_SECONDS or not self._live.keep(line):
            self.write(line)
            self._written_at = now

    def write(self, line: bytes) -> None:
        """This line, after those that wait. If a kill comes before they are let go of, their numbers tell."""
        self._writer.write(self._live.kept() + line)
        self._live.let_go()


def _redirect_output(log_path: Path) -> None:
    """What packages print goes to a file that is read only if the process dies."""
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
