"""What plug-ins give back is checked: numbers of numpy are fine, nonsense is a failed trial or one line."""

from __future__ import annotations

import pytest

from tests.helpers.commands import PLUGINS, Commands, no_stack_trace

LEARNER = f"""
import sys
import numpy as np
sys.path.insert(0, {str(PLUGINS)!r})
from learners import Faulty
from cfo_bench.records import Result, Status

class Odd(Faulty):
    def __init__(self): super().__init__(at=-1)
    def evaluate(self, trial, deadline):
        return RESULT
"""

METHOD = f"""
import sys
from dataclasses import replace
import numpy as np
sys.path.insert(0, {str(PLUGINS)!r})
from methods import Draws
from cfo_bench.records import Trial

class Odd(Draws):
    def ask(self):
        trial = super().ask()
        return TRIAL
"""

FINE_RESULTS = {
    "numpy floats": "Result(Status.OK, np.float32(0.5), np.float64(0.001), np.float32(0.001))",
    "a numpy int": "Result(Status.OK, np.int64(1), np.int32(0), 0)",
    "ints": "Result(Status.OK, 1, 0, 0)",
    "a status as text": "Result('ok', 0.5)",
    "numpy in Result.ok": "Result.ok(np.float32(0.5), np.float32(0.001), np.float32(0.001))",
}

WRONG_RESULTS = {
    "an unknown status": "Result('great', 0.5)",
    "a status of another type": "Result(None, 0.5)",
    "a bool for a loss": "Result(Status.OK, True)",
    "text for a loss": "Result(Status.OK, '0.5')",
    "an array for a loss": "Result(Status.OK, np.array([0.5, 0.6]))",
    "a complex loss": "Result(Status.OK, 1j)",
    "negative seconds": "Result(Status.OK, 0.5, -3.0)",
    "seconds without end": "Result(Status.OK, 0.5, float('inf'))",
    "no number of seconds": "Result(Status.OK, 0.5, float('nan'))",
    "text for seconds": "Result(Status.OK, 0.5, 'fast')",
    "a bool for seconds": "Result(Status.OK, 0.5, True)",
    "nothing": "None",
    "a number": "0.5",
    "a short tuple": "(Status.OK, 0.5)",
    "surrogates": "Result(Status.FAILED, error='\\udc80\\ud800')",
    "control characters": "Result(Status.FAILED, error='\\x1b[2J\\x00')",
    "a megabyte of error": "Result(Status.FAILED, error='x' * 2**20)",
    "lines of error": "Result(Status.FAILED, error='a\\nb' * 1000)",
    "bytes for an error": "Result(Status.FAILED, error=b'x')",
    "an exception with surrogates": "(_ for _ in ()).throw(ValueError('\\udc80'))",
    "an exception of a megabyte": "(_ for _ in ()).throw(ValueError('x' * 2**20))",
}

FINE_TRIALS = {
    "numpy numbers": "Trial(np.int64(trial.number), {k: (np.float64 if isinstance(v, float) else np.int64)(v)"
    " for k, v in trial.config.items()})",
    "numpy rows": "replace(trial, rows=np.int64(500))",
    "a numpy thread": "replace(trial, thread=np.int64(1))",
}

WRONG_TRIALS = {
    "negative rows": "replace(trial, rows=-5)",
    "no rows": "replace(trial, rows=0)",
    "a bool for rows": "replace(trial, rows=True)",
    "text for rows": "replace(trial, rows='500')",
    "half a row": "replace(trial, rows=0.5)",
    "a bool for a number": "replace(trial, config={**trial.config, 'x': True})",
    "text with surrogates": "replace(trial, config={**trial.config, 'x': '\\udc80'})",
    "a key of another type": "replace(trial, config={**trial.config, 7: 1})",
    "a list for a thread": "replace(trial, thread=[])",
    "a bool for its number": "replace(trial, number=bool(trial.number))",
    "nothing": "None",
    "a dict": "trial.config",
}

TRIALS = 4


def words(learner: str, method: str) -> list[str]:
    line = f"run --task synthetic-1k --budget 60 --max-trials {TRIALS} --folds 0 -q"
    return [*line.split(), "--learner", learner, "--method", method]


def check_that_others_read_it(commands: Commands) -> None:
    """No trace is written that our own readers refuse."""
    path = str(commands.trace_path().relative_to(commands.folder))
    for command in (["status", "results"], ["merge", "results", "-o", "merged"]):
        answer = commands(*command)
        no_stack_trace(answer, 0)
        assert path not in answer.stderr
    answer = commands("report", "results", "-o", "report", "--format", "csv")
    no_stack_trace(answer, 0, 2)  # 2: there is no finished run to report
    assert "can't be read" not in answer.stderr and "no record" not in answer.stderr


@pytest.mark.parametrize("result", FINE_RESULTS)
def test_a_learners_numbers_may_be_of_numpy(commands: Commands, result: str):
    (commands.folder / "odd.py").write_text(LEARNER.replace("RESULT", FINE_RESULTS[result]))
    answer = commands(*words("odd.py:Odd", "rs"))
    no_stack_trace(answer, 0)
    assert [trial["status"] for trial in commands.rows()] == ["ok"] * TRIALS
    check_that_others_read_it(commands)


@pytest.mark.parametrize("result", WRONG_RESULTS)
def test_nonsense_of_a_learner_is_a_failed_trial(commands: Commands, result: str):
    (commands.folder / "odd.py").write_text(LEARNER.replace("RESULT", WRONG_RESULTS[result]))
    answer = commands(*words("odd.py:Odd", "rs"))
    no_stack_trace(answer, 0)
    trials = commands.rows()
    assert [trial["status"] for trial in trials] == ["failed"] * TRIALS
    for trial in trials:
        error = trial["error"]
        assert isinstance(error, str) and 0 < len(error) < 5000
        assert error.isprintable(), error
    check_that_others_read_it(commands)


@pytest.mark.parametrize("trial", FINE_TRIALS)
def test_a_methods_numbers_may_be_of_numpy(commands: Commands, trial: str):
    (commands.folder / "odd.py").write_text(METHOD.replace("TRIAL", FINE_TRIALS[trial]))
    answer = commands(*words(f"{PLUGINS / 'learners.py'}:Faulty", "odd.py:Odd"))
    no_stack_trace(answer, 0)
    assert len(commands.rows()) == TRIALS
    check_that_others_read_it(commands)


@pytest.mark.parametrize("trial", WRONG_TRIALS)
def test_nonsense_of_a_method_ends_its_run_in_one_clear_line(commands: Commands, trial: str):
    (commands.folder / "odd.py").write_text(METHOD.replace("TRIAL", WRONG_TRIALS[trial]))
    answer = commands(*words(f"{PLUGINS / 'learners.py'}:Faulty", "odd.py:Odd"))
    no_stack_trace(answer, 1)
    assert answer.stderr.count("\n") == 1 and len(answer.stderr) < 2000, answer.stderr[-500:]
    [end] = commands.rows("end")
    assert end["reason"] == "error" and "ask" in end["error"]
    check_that_others_read_it(commands)
