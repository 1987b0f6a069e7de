"""What every engine keeps of its runs: which are finished, and which another command is doing."""

from __future__ import annotations

from collections.abc import Sequence

from cfo_bench.clock import monotonic
from cfo_bench.engines.listener import Listener
from cfo_bench.results.folder import is_held
from cfo_bench.run.job import Job
from cfo_bench.run.supervisor import Verdict, already_done

# How often we look whether another command has stopped working on a run.
LOOK_SECONDS = 0.5


class Runs:
    """The runs of one command. Each is known by its index in `jobs`."""

    def __init__(self, jobs: Sequence[Job], force: bool, listener: Listener) -> None:
        self.jobs, self._listener = jobs, listener
        self.forced = set(range(len(jobs))) if force else set()  # to be run again, though done
        found = {index: self.already_done(index) for index in range(len(jobs))}
        self._done_before = {index: verdict for index, verdict in found.items() if verdict is not None}
        self.missing = [index for index in found if index not in self._done_before]
        self._verdicts: dict[int, Verdict] = {}
        self._elsewhere: set[int] = set()  # the runs that another command is doing
        self._looked_at = float("-inf")
        self._said: set[str] = set()

    def already_done(self, index: int) -> Verdict | None:
        return None if index in self.forced else already_done(self.jobs[index])

    def finish_done(self) -> None:
        """Tells the listener of the runs that were done before this command."""
        for index, verdict in self._done_before.items():
            self.finish(index, verdict)

    def finish(self, index: int, verdict: Verdict) -> None:
        self._verdicts[index] = verdict
        self._listener.finished(self.jobs[index], verdict)

    @property
    def are_finished(self) -> bool:
        return len(self._verdicts) == len(self.jobs)

    def verdicts(self) -> list[Verdict]:
        """Of all runs, in order."""
        return [self._verdicts[index] for index in range(len(self.jobs))]

    def leave_to_other(self, index: int) -> None:
        """Another command is doing this run right now, so that it is not forced once more."""
        self._elsewhere.add(index)
        self.forced.discard(index)

    def left_by_other(self, is_idle: bool) -> list[int]:
        """The runs that another command has stopped working on, finished or not.

        An engine asks when it has no other run to start; `is_idle`: it has none under way either.
        """
        if not self._elsewhere or monotonic() - self._looked_at < LOOK_SECONDS:
            return []
        self._looked_at = monotonic()
        found = [index for index in sorted(self._elsewhere) if not is_held(self.jobs[index].trace_path)]
        self._elsewhere.difference_update(found)
        if is_idle and not found:
            count = len(self._elsewhere)
            self.say_once(f"waiting for another cfo-bench, which is at {count} of the runs", "waiting")
        return found

    def say_once(self, text: str, subject: str | None = None) -> None:
        """Tells the user, unless the same text, or another on the same subject, was told before."""
        if (subject or text) not in self._said:
            self._said.add(subject or text)
            self._listener.said(text)

    def warn_once(self, text: str) -> None:
        """Tells the user also with --quiet, unless the same text was told before."""
        if text not in self._said:
            self._said.add(text)
            self._listener.warned(text)
