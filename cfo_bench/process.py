"""The run's own process: method and training together, writing the trace as it goes."""

from __future__ import annotations

import faulthandler
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

from cfo_bench import runner, trace
from cfo_bench.errors import CfoBenchError
from cfo_bench.live import LivePage
from cfo_bench.machine import die_with_parent
from cfo_bench.search import describe


def main(job: runner.Job, live_path: Path, log_path: Path, answer: Connection, fresh: bool, why: str) -> None:
    """Runs the job and answers (exit code, message) when it could not; `fresh` starts its trace anew."""
    die_with_parent()
    # The terminal's Ctrl-C reaches every process of the group: stopping is the supervisor's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _redirect_output(log_path)
    try:
        with trace.TraceWriter(job.trace_path) as writer, LivePage.join(live_path) as live:
            writer.mend()
            past = None if fresh else trace.read(job.trace_path)
            is_empty = past is None
            for record in runner.run(job, past, live, why):
                if is_empty:  # whatever stood there goes only now that there is something in its place
                    writer.clear()
                    is_empty = False
                writer.append(record)
            writer.sync()
    except CfoBenchError as error:
        answer.send((error.exit_code, str(error)))
    except Exception as error:
        faulthandler.dump_traceback(all_threads=False)
        answer.send((1, f"unexpected {describe(error)}; more in {log_path}"))
        raise


def _redirect_output(log_path: Path) -> None:
    """What packages print goes to a file that is read only if the process dies."""
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
