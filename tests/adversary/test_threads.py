"""The processor time of every thread of a learner, a method and a program is in the trace."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.helpers.commands import Commands, faulty

# Each thread writes down how long it was on a processor: on a busy machine that is less than the time that
# has passed. Hashing lets other threads run.
THREADS = """
import hashlib, threading, time

def hash_in_two_threads(out):
    def work():
        block = bytes(2**22)
        while time.thread_time() < 0.3:
            hashlib.sha256(block)
        with open(out, "a") as file:
            file.write(f"{time.thread_time()}\\n")
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
LEARNER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "plugins")!r})
from learners import Faulty
{THREADS}
class Threaded(Faulty):
    def evaluate(self, trial, deadline):
        hash_in_two_threads("used")
        return super().evaluate(trial, deadline)
"""
METHOD = f"""
from cfo_bench.plugins import Trial
{THREADS}
class Threaded:
    def __init__(self, space, start, seed): self.start, self.asked = start, 0
    def ask(self):
        hash_in_two_threads("used")
        self.asked += 1
        return Trial(self.asked - 1, dict(self.start))
    def tell(self, trial, result): hash_in_two_threads("used")
"""
PROGRAM = f"""
import json, sys
{THREADS}
for line in sys.stdin:
    do = json.loads(line)["do"]
    if do in ("ask", "tell"): hash_in_two_threads("used")
    answers = {{"hello": {{"protocol": 1}}, "ask": {{"config": {{"x": 1, "y": 1.0}}}}}}
    print(json.dumps(answers.get(do, {{}})), flush=True)
"""
WAYS = {
    "a learner": ({"learner": "threaded.py:Threaded"}, LEARNER),
    "a method": ({"method": "threaded.py:Threaded"}, METHOD),
    "a program": ({"method": f"exec:{sys.executable} threaded.py"}, PROGRAM),
}


@pytest.mark.parametrize(
    ("who", "parallel"), [("a learner", 1), ("a method", 1), ("a program", 1), ("a learner", 2)]
)
def test_both_threads_are_counted(commands: Commands, who: str, parallel: int):
    names, code = WAYS[who]
    (commands.folder / "threaded.py").write_text(code)
    words = faulty(budget=60, method=names.get("method", "rs"), at=-1)
    if "learner" in names:
        words[words.index("--learner") + 1] = names["learner"]
    result = commands(*words, "--max-trials", 2, "--parallel", parallel)
    assert result.returncode == 0, result.stderr
    used = sum(map(float, (commands.folder / "used").read_text().split()))
    names = sorted(("cpu_seconds", "method_cpu_seconds"), reverse=who != "a learner")
    counted, of_others = (sum(trial[name] for trial in commands.rows()) for name in names)
    assert 1.0 < used <= counted < 1.5 * used and of_others < 0.2 * used


def test_on_the_virtual_clock_no_processor_time_is_recorded(commands: Commands):
    line = "run --task synthetic-1k --learner synthetic --clock virtual --budget 60 --max-trials 3"
    assert commands(*line.split(), "--method", "rs", "--folds", "0", "-q").returncode == 0
    assert not [trial for trial in commands.rows() if "cpu_seconds" in trial or "method_cpu_seconds" in trial]
