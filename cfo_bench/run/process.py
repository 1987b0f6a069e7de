"""The run's process, which executes the method and the training, and writes the trace."""

from __future__ import annotations

import atexit
import math
import os
import sys
import warnings
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

from cfo_bench.errors import CfoBenchError, RunError, TraceError, describe
from cfo_bench.files.writing import open_file
from cfo_bench.learners import LEARNERS
from cfo_bench.machine.processes import adopt_orphans, die_with_parent, end_children, leave_stopping_to_others
from cfo_bench.optimizers import METHODS
from cfo_bench.results.limits import resumed_with
from cfo_bench.results.run import Run, read_run
from cfo_bench.results.schema import AnyLine, TrialRecord, encode
from cfo_bench.results.trace import TraceWriter
from cfo_bench.run import runner
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage
from cfo_bench.tasks import data_set, folds, prepared  # noqa: F401
from cfo_bench.tasks.sources import built_in  # noqa: F401

# Trials that end within this time are written together, because a write is a quarter of the work for a trial
# of a millisecond.
TOGETHER_SECONDS = 0.01


def main(job: Job, page_path: Path, log_path: Path, answer: Connection, fresh: bool, why: str) -> None:
    """Executes the run. A `fresh` run starts its trace again; otherwise the trace is resumed.

    On an error, sends (exit code, message) to `answer`. `why` is the reason why the run ended before.
    """
    die_with_parent()
    adopt_orphans()
    leave_stopping_to_others()
    try:
        _redirect_output(log_path)
        past = None if fresh else read_run(job.trace_path, parse_trials=True)
        if past is not None:
            past = resumed_with(past, job.spec.limits)
        with closing(LivePage.join(page_path)) as page, closing(runner.run(job, past, page, why)) as records:
            first = next(records)  # an old trace is removed only now, when a new line replaces it
            with TraceWriter(job.trace_path) as writer:
                if past is None:
                    writer.clear()
                output = Output(writer, page, past)
                output.write(first)
                for record in records:
                    output.write(record)
                writer.sync()
    except CfoBenchError as error:
        more = ""
        if isinstance(error, RunError) and log_path.is_file() and log_path.stat().st_size:
            more = f"; more in {log_path}"
        else:
            log_path.unlink(missing_ok=True)
        answer.send((error.exit_code, f"{error}{more}"))
    except Exception as error:
        answer.send((1, f"unexpected {describe(error)}; more in {log_path}"))
        raise


class Output:
    """Writes a run's records to its trace, and removes each trial from the live page when its line is safe.

    Cheap trials are written several at a time. Until then, the page keeps their lines, which survive a kill.
    """

    def __init__(self, writer: TraceWriter, page: LivePage, past: Run | None = None) -> None:
        self._writer, self._page = writer, page
        self._written_at = -math.inf
        self._trials = len(past.trials) if past else 0
        self._best_loss = past.best.loss if past and past.best else None
        page.tally(self._trials, self._best_loss)

    def write(self, record: AnyLine) -> None:
        """Write a record. A trial's line may be written later, together with others; any other line is
        written now.
        """
        if not isinstance(record, TrialRecord):
            self._write(b"")
            self._writer.append(record)
            return
        line = encode(record)
        if record.ended - self._written_at >= TOGETHER_SECONDS or not self._page.keep(line):
            self._write(line)
            self._written_at = record.ended
        self._page.remove(record.number)
        self._trials += 1
        loss = record.loss
        if loss is not None and (self._best_loss is None or loss < self._best_loss):
            self._best_loss = loss
        self._page.tally(self._trials, self._best_loss)

    def _write(self, line: bytes) -> None:
        """Writes this line after the waiting ones.

        A kill between the two steps leaves trials in both files; a reader recognises them by their numbers.
        """
        self._writer.write(self._page.kept() + line)
        self._page.drop_kept()


def _redirect_output(log_path: Path) -> None:
    """The output of packages goes to a new file, which is read only if the process dies."""
    try:
        log_path.unlink(missing_ok=True)  # not emptied: it may be a link
        log = open_file(log_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
    except OSError as error:
        raise TraceError(f"can't write {log_path}: {error.strerror}; choose another --results") from None
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


# --- the fork server imports this module ----------------------------------------------------------
# Therefore no run has to load the modules, or the registries with their plug-ins. A search for plug-ins in a
# few hundred installed packages takes 20 ms.

for registry in (LEARNERS, METHODS):
    registry.rows()


def _adopt() -> None:
    """Makes the fork server adopt the processes that dead runs leave behind, and end them when it ends."""
    server = os.getpid()
    adopt_orphans()
    # multiprocessing warns about children that it has not forked.
    warnings.filterwarnings("ignore", "forkserver: waitpid returned unexpected pid")

    def end() -> None:
        if os.getpid() == server:  # its forks inherit this function
            end_children(server)

    atexit.register(end)


# Only in the fork server: another process has its own children.
if any("multiprocessing.forkserver" in word for word in sys.orig_argv):
    _adopt()
