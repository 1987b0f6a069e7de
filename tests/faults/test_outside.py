"""A failure from outside is tried again, and costs no trial; a failure of the method is not."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from cfo_bench.records import EndReason, Status
from cfo_bench.results.run import read_run

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"

# Each kills its own process as the kernel does, the first `times`, counted in a file.
KILLED = f"""
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(PLUGINS)!r})
from learners import Faulty
from methods import Draws

def killed(times):
    count = Path("count")
    so_far = int(count.read_text()) if count.exists() else 0
    if so_far < times:
        count.write_text(str(so_far + 1))
        os.kill(os.getpid(), signal.SIGKILL)

class WhileLoading(Faulty):
    def __init__(self, *, times: int = 2): super().__init__(at=-1); self.times = times
    def space(self, n_rows):
        if n_rows < 1000:  # in a run: the rehearsal before it has more rows
            killed(self.times)
        return super().space(n_rows)

class InAsk(Draws):
    def __init__(self, space, start, seed, *, times: int = 1):
        super().__init__(space, start, seed); self.times = times
    def ask(self):
        if self._number == 3:
            killed(self.times)
        return super().ask()
"""


def loud(words: list[str]) -> list[str]:
    return [word for word in words if word != "-q"]


def killed_while_loading(bench, faulty, times: int) -> list[str]:
    (bench.folder / "killed.py").write_text(KILLED)
    words = [
        word.replace(str(PLUGINS / "learners.py"), "killed.py").replace("Faulty", "WhileLoading")
        for word in loud(faulty(budget=60))
        if word not in ("--learner-option", "fault=none")
    ]
    return [*words, "--learner-option", f"times={times}", "--max-trials", "5"]


def killed_in_ask(bench, faulty, times: int) -> list[str]:
    (bench.folder / "killed.py").write_text(KILLED)
    words = loud(faulty(budget=60, method="killed.py:InAsk", at=-1))
    return [*words, "--option", f"times={times}", "--max-trials", "9"]


def servers(bench) -> list[int]:
    """The processes that the runs are forked from."""
    runs = bench.run_processes()
    return [
        pid
        for pid, line in bench.processes().items()
        if "multiprocessing.forkserver" in line and pid not in runs
    ]


def test_a_run_that_is_killed_before_its_first_line_is_tried_again(bench, faulty):
    result = bench.run(*killed_while_loading(bench, faulty, times=2))
    assert result.returncode == 0, result.stderr
    assert "died before its first line: killed by SIGKILL" in result.stderr
    assert "tried again (2 of 3)" in result.stderr and "tried again (3 of 3)" in result.stderr
    assert len(bench.trace().trials) == 5
    bench.assert_nothing_is_left()


def test_a_run_that_is_killed_again_and_again_is_given_up_and_stops_no_other(bench, faulty):
    result = bench.run(*killed_while_loading(bench, faulty, times=3), "--folds", "0-1")
    assert result.returncode == 1
    assert result.stderr.count("tried again") == 2
    failures = [line for line in result.stderr.splitlines() if line.startswith("cfo-bench: ")]
    assert len(failures) == 1 and "fold 0: " in failures[0] and "before its first line" in failures[0]
    assert [path.name for path in bench.traces()] == ["fold-1_seed-0.jsonl"]
    assert len(bench.trace().trials) == 5


def test_a_kill_outside_of_a_trial_costs_nothing(bench, faulty):
    result = bench.run(*killed_in_ask(bench, faulty, times=1))
    assert result.returncode == 0, result.stderr
    assert "died after 4 trials: killed by SIGKILL: tried again (2 of 3)" in result.stderr
    found = bench.trace()
    assert [(trial.number, trial.status) for trial in found.trials] == [(n, Status.OK) for n in range(9)]
    assert sum(b'"kind":"resume"' in line for line in bench.lines()) == 1
    bench.assert_nothing_is_left()


def test_a_run_that_outside_reasons_ended_is_resumed_by_the_next_command(bench, faulty):
    first = bench.run(*killed_in_ask(bench, faulty, times=3))
    assert first.returncode == 1 and first.stderr.count("tried again") == 2
    found = bench.trace()
    assert len(found.trials) == 4 and found.end is None
    before = bench.trial_lines()

    assert bench.run(*killed_in_ask(bench, faulty, times=3)).returncode == 0
    assert bench.trial_lines()[:4] == before
    assert [trial.number for trial in bench.trace().trials] == list(range(9))
    bench.assert_nothing_is_left()


def test_a_forced_run_that_is_killed_keeps_what_it_did(bench, faulty):
    words = killed_in_ask(bench, faulty, times=1)
    (bench.folder / "count").write_text("9")
    assert bench.run(*words).returncode == 0
    old = bench.trial_lines()
    (bench.folder / "count").unlink()

    result = bench.run(*words, "--force")
    assert result.returncode == 0 and "tried again (2 of 3)" in result.stderr
    assert "resumed after 4 trials" in result.stderr
    assert not set(old) & set(bench.trial_lines())  # every one was measured again
    assert [trial.number for trial in bench.trace().trials] == list(range(9))


def test_a_forced_run_that_never_began_is_not_taken_for_the_one_before(bench, faulty):
    words = killed_while_loading(bench, faulty, times=3)
    (bench.folder / "count").write_text("9")
    assert bench.run(*words).returncode == 0
    old = bench.trace_path().read_bytes()
    (bench.folder / "count").unlink()

    result = bench.run(*words, "--force")
    assert result.returncode == 1 and "before its first line" in result.stderr
    assert bench.trace_path().read_bytes() == old


def test_a_method_that_dies_by_itself_is_not_tried_again(bench, faulty, methods):
    result = bench.run(*loud(faulty(budget=60, method=methods("DiesInAsk"), at=-1)))
    assert result.returncode == 1
    assert "SIGSEGV" in result.stderr and "tried again" not in result.stderr


def kill_the_next_server(bench, killed: set[int]) -> None:
    """As soon as it exists: it loads packages for a second and more."""
    bench.wait_until(lambda: set(servers(bench)) - killed, "the process that runs are forked from")
    for pid in set(servers(bench)) - killed:
        os.kill(pid, signal.SIGKILL)
        killed.add(pid)


def test_a_fork_server_that_is_killed_while_it_loads_is_replaced(bench, faulty):
    running = bench.start(*faulty(budget=60), "--max-trials", "5")
    kill_the_next_server(bench, set())
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert [(trial.number, trial.status) for trial in bench.trace().trials] == [
        (n, Status.OK) for n in range(5)
    ]
    bench.assert_nothing_is_left()


def test_fork_servers_that_are_all_killed_while_they_load_are_an_error_in_one_line(bench, faulty):
    running = bench.start(*faulty(budget=60), "--max-trials", "5")
    killed: set[int] = set()
    for _ in range(3):
        kill_the_next_server(bench, killed)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 1, err
    assert err.count("\n") == 1 and "loading task 'synthetic-1k'" in err and "was killed 3 times" in err
    bench.assert_no_process_is_left()


def test_a_fork_server_that_is_killed_in_the_middle_of_a_suite_is_replaced(bench, faulty):
    words = [*loud(faulty(budget=60, seconds=0.05)), "--max-trials", "20", "--folds", "0-4", "--jobs", "2"]
    running = bench.start(*words)
    bench.wait_for_trials(8)
    [server] = servers(bench)
    os.kill(server, signal.SIGKILL)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert err.count("the process that it was forked from died: tried again (2 of 3)") == 2
    paths = bench.traces()
    assert len(paths) == 5
    for path in paths:
        run = read_run(path)
        assert [(trial.number, trial.status) for trial in run.trials] == [(n, Status.OK) for n in range(20)]
        assert run.end.reason is EndReason.MAX_TRIALS
    bench.assert_nothing_is_left()


def test_a_replaced_fork_server_is_as_deaf_to_a_stop_as_the_first(bench, faulty):
    words = [*faulty(budget=60, seconds=0.05), "--max-trials", "200"]
    running = bench.start(*words)
    bench.wait_for_trials(3)
    os.kill(servers(bench)[0], signal.SIGKILL)
    bench.wait_for_trials(20)
    os.killpg(running.pid, signal.SIGTERM)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 143 and "run the same command to resume" in err
    assert bench.trace().end.reason is EndReason.INTERRUPTED
    bench.assert_nothing_is_left()
