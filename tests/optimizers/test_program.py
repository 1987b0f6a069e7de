"""Programs that misbehave: each is one line that names what the program did, and nothing of it is left."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.errors import CfoBenchError, Exhausted, OptionError, RunError, SpaceError, UserError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Result, Status, Trial
from cfo_bench.space import Categorical, Float, Int, Space
from tests.helpers.processes import wait_until

SPACE = Space([Int("n", 1, 9), Float("x", 0.0, 1.0), Categorical("c", [1.5, 2.0, "2", True])])
START = {"n": 1, "x": 0.5, "c": 2.0}

# Answers each message with what `answers` has for it: an object, a text as it is, or a function's answer.
CLIENT = """
import json, os, signal, sys, time
def say(text): print(text, flush=True)
def log(text): print(text, file=sys.stderr, flush=True)
start = None
options = {"depth": 2, "rate": 0.5, "kind": "a", "on": True, "any": None}
answers = {"hello": {"protocol": 1, "options": options}}
asked = lambda message: {"config": start}
{code}
for line in sys.stdin:
    message = json.loads(line)
    do = message["do"]
    start = message.get("start", start)
    found = answers.get(do, asked if do == "ask" else {})
    found = found(message) if callable(found) else found
    say(found if isinstance(found, str) else json.dumps(found))
"""

Write = Callable[[str], str]


@pytest.fixture
def program(tmp_path: Path) -> Write:
    """The name of a method whose client has this code."""

    def write(code: str = "") -> str:
        path = tmp_path / "a client.py"
        path.write_text(CLIENT.replace("{code}", code), encoding="utf-8")
        return f"exec:{shlex.join([sys.executable, '-S', str(path)])} {time.monotonic_ns()}"

    return write


def build(name: str, **options: Any) -> Any:
    return METHODS.load(name)(SPACE, START, 3, **options)


def children() -> set[int]:
    numbers = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return set(map(int, numbers))


def assert_no_new_child(before: set[int]) -> None:
    """One that an earlier test left to end may disappear meanwhile."""
    wait_until(lambda: not children() - before, "the end of every new child")


def test_it_is_told_all_that_a_method_is_told(program: Write, tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    name = program(
        f"log = open({str(heard)!r}, 'a', buffering=1)\n"
        "answers['begin'] = answers['tell'] = lambda m: (log.write(json.dumps(m) + chr(10)), {})[1]"
    )
    method = build(name, depth=3)
    method.tell(Trial(0, START, 50), Result(Status.OK, 0.25, 1.0, 0.5))
    method.tell(Trial(1, START), Result(Status.OK, float("nan"), 1.0))
    method.tell(Trial(2, START), Result(Status.TIMEOUT, None, 2.0, error="late"))

    import json

    begin, *tells = map(json.loads, heard.read_text().splitlines())
    assert begin == {
        "do": "begin",
        "space": SPACE.to_json(),
        "start": START,
        "seed": 3,
        "options": {"depth": 3, "rate": 0.5, "kind": "a", "on": True, "any": None},
        "parallel": 1,
    }
    assert tells == [
        {
            "do": "tell",
            "number": number,
            "config": START,
            "rows": rows,
            "status": status,
            "loss": loss,
            "fit_seconds": fit,
            "validate_seconds": validate,
            "error": error,
        }
        for number, rows, status, loss, fit, validate, error in [
            (0, 50, "ok", 0.25, 1.0, 0.5, None),
            (1, None, "failed", None, 1.0, 0.0, None),
            (2, None, "timeout", None, 2.0, 0.0, "late"),
        ]
    ]


def test_numbers_may_be_written_as_other_languages_do(program: Write) -> None:
    method = build(program("""answers['ask'] = '{"rows": 7, "config": {"c": 2, "x": 1, "n": 3.0}}'"""))

    trial = method.ask()

    assert trial == Trial(0, {"n": 3, "x": 1.0, "c": 2.0}, 7)
    assert [type(value) for value in trial.config.values()] == [int, float, float]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("""'{"config": {"n": 3, "x": 7, "c": 2}}'""", "x = 7 is not a number"),
        ("""'{"config": {"n": 3.5, "x": 0, "c": 2}}'""", "n = 3.5 is not a whole number"),
        ("""'{"config": {"n": 3, "x": 0, "c": 1}}'""", "c = 1 is not one of its choices"),
        ("""'{"config": {"n": 3, "x": 0, "c": 2, "wings": 2}}'""", "unknown ['wings']"),
        ("""'{"config": [1]}'""", "answered {'config': [1]}"),
        ("'{}'", "return a config, or exhausted"),
        ("""'{"config": {"n": 3, "x": NaN, "c": 2}}'""", "NaN"),
        ("'loading the model'", "printed 'loading the model' in place of a JSON object"),
        ("'[1]'", "printed '[1]' in place of a JSON object"),
        ("'{}' + chr(10) + '{}'", "return a config"),
        ("lambda m: (log('no such file'), sys.exit(3))", "ended with exit code 3"),
        ("lambda m: os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL"),
        ("lambda m: (log('my last words'), 1 / 0)", "ZeroDivisionError"),
        ("lambda m: (os.close(1), time.sleep(60))", "closed its stdout"),
        ("""'{"error": "out of ideas"}'""", "the program reports: out of ideas"),
    ],
)
def test_a_wrong_answer_is_one_line_that_names_it(program: Write, answer: str, words: str) -> None:
    method = build(program(f"answers['ask'] = {answer}"))

    with pytest.raises((RunError, SpaceError)) as refused:
        method.ask()

    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_line_that_nobody_asked_for_is_refused(program: Write) -> None:
    method = build(program("answers['tell'] = '{}' + chr(10) + 'best so far: 3'"))
    method.tell(method.ask(), Result.ok(0.5))

    with pytest.raises(RunError, match="printed 'best so far: 3' without being asked"):
        wait_until(lambda: method.ask() and False, "an error")


def test_the_error_quotes_the_last_line_of_stderr_and_stderr_is_passed_on(
    program: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    method = build(
        program("log('warming up')\nanswers['ask'] = lambda m: (log('the disk is full'), sys.exit(1))")
    )
    assert capfd.readouterr().err == ""  # a method that is only built says nothing

    with pytest.raises(RunError, match=r"the last line on its stderr: the disk is full\)"):
        method.ask()

    assert capfd.readouterr().err == "warming up\nthe disk is full\n"


def test_a_program_that_writes_much_to_stderr_does_not_block(program: Write) -> None:
    method = build(program("answers['ask'] = lambda m: (log('x' * 3_000_000), {'config': start})[1]"))

    assert method.ask().config == START


def test_a_question_longer_than_a_pipe_arrives_whole(program: Write) -> None:
    name = program("answers['begin'] = lambda m: (time.sleep(0.1), {})[1]")
    space = Space([Categorical("c", [f"{'x' * 1000}{i}" for i in range(400)])])

    method = METHODS.load(name)(space, {"c": space["c"].choices[7]}, 0)

    assert method.ask().config == {"c": space["c"].choices[7]}


@pytest.mark.parametrize(
    "answer", ["lambda m: time.sleep(60)", "lambda m: (print('no end', end='', flush=True), time.sleep(60))"]
)
def test_a_program_that_does_not_answer_in_time_is_ended(program: Write, answer: str) -> None:
    before = children()
    # Its other answers have to come in that time too, on a loaded machine as well.
    method = build(program(f"answers['ask'] = {answer}"), answer_timeout_seconds=1)

    with pytest.raises(RunError, match=r"within 1 s.*answer_timeout_seconds=10$"):
        method.ask()

    assert_no_new_child(before)
    with pytest.raises(RunError, match="was ended before"):
        method.ask()


def test_an_endless_line_is_cut_off(program: Write) -> None:
    method = build(
        program("def endless(m):\n  while True: sys.stdout.write('x' * 65536)\nanswers['ask'] = endless")
    )

    with pytest.raises(RunError, match="continues: end each answer with a line break"):
        method.ask()


@pytest.mark.parametrize(
    ("hello", "words"),
    [
        ('"Python 3.9"', "printed 'Python 3.9' in place of a JSON object"),
        ("{}", "has to speak protocol 1"),
        ('{"protocol": 2}', "has to speak protocol 1"),
        ('{"protocol": 1, "parallel": 0}', "parallel = 0"),
        ('{"protocol": 1, "parallel": "many"}', "parallel = 'many'"),
        ('{"protocol": 1, "options": ["a"]}', "options = ['a']"),
        ('{"protocol": 1, "options": {"seed": 1}}', "option 'seed'"),
        ('{"protocol": 1, "options": {"two words": 1}}', "option 'two words'"),
        ('{"error": "no depth: install it"}', "reports: no depth: install it"),
        ("lambda m: sys.exit('no module named hebo')", "no module named hebo"),
    ],
)
def test_a_wrong_hello_is_the_users_mistake(program: Write, hello: str, words: str) -> None:
    before = children()

    with pytest.raises(UserError) as refused:
        METHODS.load(program(f"answers['hello'] = {hello}"))

    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert_no_new_child(before)


def test_what_is_no_program_can_not_be_started(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    text.chmod(0o755)
    with pytest.raises(UserError, match="can't be started"):
        METHODS.load(f"exec:{text}")


def test_its_options_are_what_it_says_and_are_checked(program: Write) -> None:
    name = program()

    assert METHODS.options(name, {"depth": 4, "any": [1]})["depth"] == 4
    for wrong in ({"depth": 0.5}, {"on": 1}, {"kind": 3}, {"wings": 2}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            METHODS.options(name, wrong)
    with pytest.raises(OptionError, match="answer_timeout_seconds 0"):
        build(name, answer_timeout_seconds=0)


def test_what_it_refuses_at_the_beginning_is_a_wrong_option(program: Write) -> None:
    with pytest.raises(OptionError, match="the program reports: depth is 3: give 4"):
        build(program("""answers['begin'] = {"error": "depth is 3: give 4"}"""))


def test_it_says_how_many_trials_it_takes_at_once(program: Write) -> None:
    single = program()
    assert "parallel" not in METHODS.options(single, {})
    double = program('answers["hello"] = {"protocol": 1, "parallel": 2}')
    assert METHODS.options(double, {})["parallel"] == 1
    build(double, parallel=2)
    with pytest.raises(OptionError, match="parallel 3: the program runs at most 2 trials"):
        build(double, parallel=3)


def test_it_says_that_it_is_exhausted_or_can_not_be_replayed(program: Write) -> None:
    name = program(
        'answers["hello"] = {"protocol": 1, "replays": False}\nanswers["ask"] = {"exhausted": "all is tried"}'
    )

    assert METHODS.load(name).replays is False
    with pytest.raises(Exhausted, match="all is tried"):
        build(name).ask()


def test_a_program_that_receives_the_budget_plans_with_it(program: Write) -> None:
    """Its runs are not extended: with another budget it would have proposed other configurations."""
    name = program('answers["hello"] = {"protocol": 1, "options": {"budget_seconds": None}}')

    assert METHODS.load(name).knows_budget is True
    assert METHODS.load(program()).knows_budget is False


def test_the_bare_round_trip_is_measured(program: Write) -> None:
    facts = build(program('answers["hello"]["version"] = "hebo 0.3"')).program_facts

    assert facts["version"] == "hebo 0.3"
    assert 0 < facts["round_trip_seconds"] < 60
    assert "a client.py" in facts["command"]


def test_a_program_ends_with_its_method_and_so_does_what_it_started(program: Write, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    name = program(
        "import subprocess\n"
        f"open({str(pid_file)!r}, 'w').write(str(subprocess.Popen(['sleep', '100']).pid))\n"
    )
    METHODS.load(name)
    before = children()
    method = build(name)
    pid = int(pid_file.read_text())
    assert len(children() - before) == 1

    del method

    assert_no_new_child(before)
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid), "the end of what it started")


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_forked_process_does_not_end_the_program(program: Write) -> None:
    """Trials at once are evaluated in forks of the process that holds the method."""
    method = build(program())
    pid = os.fork()
    if pid == 0:
        try:
            method._program.close()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)

    assert method.ask().config == START


def test_errors_are_ours(program: Write) -> None:
    with pytest.raises(CfoBenchError):
        METHODS.load("exec:")
