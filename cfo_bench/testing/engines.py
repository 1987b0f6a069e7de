"""The contract of engines: the checks that every engine has to pass."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from cfo_bench.clock import monotonic, sleep
from cfo_bench.engines import ENGINES, Engine
from cfo_bench.records import EndReason, RunStatus
from cfo_bench.results.run import read_run
from cfo_bench.testing.engine_runs import FAILING_FOLD, TRIALS, endless_specs, jobs, small_specs

FOLDS = range(len(TRIALS))
_LOOK_SECONDS = 0.05


class EngineContract:
    """The checks of one engine, by runs on the virtual clock: subclass it and set `engine`.

    Attributes
    ----------
    engine : str
        A registered name, or path/to/file.py:Class.
    options : mapping of str to value, default {}
        Options of the engine.
    patience_seconds : float, default 90
        The time that the engine may take for a few small runs, and to stop when it is asked to.
    """

    engine: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {}
    patience_seconds: ClassVar[float] = 90.0

    @pytest.fixture(scope="class")
    @classmethod
    def answers(cls, tmp_path_factory: pytest.TempPathFactory) -> Any:
        """The answers for the small runs: the first time, again, and with force; then the results folder."""
        results = tmp_path_factory.mktemp("results")
        process = cls._start(results, endless=False)
        output = cls._finish(process)
        assert process.returncode == 0, output
        return [*json.loads(output.splitlines()[-1]), results]

    def test_it_reports_its_size_and_cost_before_it_starts(self) -> None:
        built: Engine = ENGINES.load(self.engine)(**ENGINES.options(self.engine, self.options))

        built.check()

        assert built.at_once() >= 1
        assert built.price(small_specs()).strip()

    def test_verdicts_come_in_the_order_of_the_jobs(self, answers: Any) -> None:
        assert answers[0]["trials"] == list(TRIALS)

    def test_a_run_that_fails_stops_no_other(self, answers: Any) -> None:
        expected = [RunStatus.FAILED if fold == FAILING_FOLD else RunStatus.DONE for fold in FOLDS]

        assert answers[0]["outcomes"] == expected
        assert [code != 0 for code in answers[0]["exit_codes"]] == [fold == FAILING_FOLD for fold in FOLDS]

    def test_every_run_that_is_done_has_its_whole_trace(self, answers: Any) -> None:
        for job, trials in zip(jobs(answers[-1], small_specs()), TRIALS, strict=True):
            if trials:
                run = read_run(job.trace_path)
                assert run is not None and run.end is not None
                assert run.end.reason is EndReason.MAX_TRIALS
                assert [trial.number for trial in run.trials] == list(range(trials))

    def test_each_run_is_reported_once_when_it_has_ended(self, answers: Any) -> None:
        for answer in answers[:3]:
            assert sorted(answer["finished_folds"]) == list(FOLDS)

    def test_what_is_done_is_run_again_by_force_only(self, answers: Any) -> None:
        first, again, forced, _ = answers
        for fold in FOLDS:
            if fold != FAILING_FOLD:
                assert again["outcomes"][fold] == RunStatus.ALREADY_DONE
                assert again["written"][fold] == first["written"][fold]
                assert forced["outcomes"][fold] == RunStatus.DONE
                assert forced["written"][fold] > first["written"][fold]

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_it_stops_when_asked_to_and_the_runs_can_be_resumed(
        self, tmp_path: Path, number: signal.Signals
    ) -> None:
        process = self._start(tmp_path, endless=True)
        paths = [job.trace_path for job in jobs(tmp_path, endless_specs())]

        self._wait(process, lambda: any(path.is_file() and _n_lines(path) > 1 for path in paths))
        process.send_signal(number)
        output = self._finish(process)

        assert json.loads(output.splitlines()[-1]) == {"interrupted": 128 + number}, output
        begun = [run for path in paths if path.is_file() and (run := read_run(path))]
        assert begun
        for run in begun:
            assert run.end is None or run.end.reason is EndReason.INTERRUPTED

    @classmethod
    def _start(cls, results: Path, endless: bool) -> subprocess.Popen[str]:
        asked = {
            "engine": cls.engine,
            "options": dict(cls.options),
            "results": str(results),
            "endless": endless,
        }
        path = os.pathsep.join(filter(None, sys.path))  # pytest may have added to it
        return subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from cfo_bench.testing import engine_runs; engine_runs.main()",
                json.dumps(asked),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    @classmethod
    def _finish(cls, process: subprocess.Popen[str]) -> str:
        try:
            return process.communicate(timeout=cls.patience_seconds)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"not over after {cls.patience_seconds} s: {process.communicate()[0]}")

    @classmethod
    def _wait(cls, process: subprocess.Popen[str], until: Callable[[], bool]) -> None:
        give_up_at = monotonic() + cls.patience_seconds
        while not until():
            if process.poll() is not None or monotonic() > give_up_at:
                process.kill()
                pytest.fail(f"no run has begun: {process.communicate()[0]}")
            sleep(_LOOK_SECONDS)


def _n_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")
