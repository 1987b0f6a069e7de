"""The contract of methods: the checks that every method has to pass."""

from __future__ import annotations

import copy
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import orjson
import pytest

from cfo_bench.errors import Exhausted, OptionError, SpaceError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Optimizer, Result, Status, Trial
from cfo_bench.registry import default_options, parameter_types
from cfo_bench.space import Categorical, Float, Int
from cfo_bench.testing.searches import SPACES, build, loss, search

# Spaces with more than one configuration.
KINDS = [kind for kind in SPACES if kind != "single values"]

# Results that a method has to handle; each list is repeated in its order.
TROUBLE: dict[str, list[Result]] = {
    "failures": [Result(Status.FAILED, error="boom"), Result(Status.TIMEOUT), Result(Status.MEMORY)],
    "a failed start": [Result(Status.FAILED), *[Result.ok(0.1 * i) for i in range(30)]],
    "equal losses": [Result.ok(0.5)],
    "no number": [Result.ok(1.0), Result.ok(math.nan), Result(Status.OK, math.nan), Result.ok(math.inf)],
    "enormous losses": [Result.ok(1e300), Result.ok(-1e300), Result.ok(0.0)],
    "a mixture": [
        Result.ok(0.5),
        Result(Status.TIMEOUT, None, 3.0),
        Result.ok(0.4),
        Result(Status.MEMORY),
        Result.ok(0.4),
        Result(Status.FAILED),
        Result.ok(0.3),
    ],
}

_PLAIN = {Int: (int,), Float: (float,), Categorical: (str, int, float, bool, type(None))}
# FLOW² in one dimension evaluates only the start and one point on each side.
_FEWEST_TRIALS = 3


class MethodContract:
    """The checks of one method: subclass it and set `method`. No model is trained.

    Attributes
    ----------
    method : str
        A registered name, or path/to/file.py:Class.
    options : mapping of str to value, default {}
        Options that make the method quick. Choose them so that its later phases, such as fitting a model,
        begin well before the last trial.
    trials : int, default 30
        The number of trials of each search.
    repeats : bool, default False
        Whether the method may ask for a configuration again, as random search does. Any other method raises
        Exhausted when it has tried everything.
    troubled_spaces : sequence of str
        The spaces in which trials fail. A slow method may name fewer.
    """

    method: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {}
    trials: ClassVar[int] = 30
    repeats: ClassVar[bool] = False
    troubled_spaces: ClassVar[Sequence[str]] = ("mixed", "integers", "one dimension")

    def build(self, kind: str = "mixed", seed: int = 0, **options: Any) -> Optimizer:
        """The method in a space of this kind."""
        return build(self.method, {**self.options, **options}, kind, seed)

    def search(self, optimizer: Optimizer, results: Sequence[Result] = ()) -> list[tuple[Trial, Result]]:
        """The trials of a short search, with their results."""
        return search(optimizer, self.trials, results)

    @pytest.fixture
    def replays(self) -> None:
        if not getattr(METHODS.load(self.method), "replays", True):
            pytest.skip(f"{self.method} has `replays = False`: it need not do the same twice")

    # --- its configurations -------------------------------------------------------------------

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_first_trial_is_the_start(self, kind: str) -> None:
        assert self.build(kind).ask().config == SPACES[kind][1]

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_configuration_is_a_plain_one_of_the_space(self, kind: str) -> None:
        space, _ = SPACES[kind]

        trials = [trial for trial, _ in self.search(self.build(kind))]

        assert len(trials) >= _FEWEST_TRIALS
        for trial in trials:
            config = trial.config
            assert list(config.items()) == list(space.check(config).items())
            for param in space:
                # A run also accepts np.float64 and np.int64, but has to copy each configuration for this.
                assert type(config[param.name]) in _PLAIN[type(param)]
            assert orjson.loads(orjson.dumps(config)) == json.loads(json.dumps(config)) == config

    def test_trials_are_numbered_from_zero(self) -> None:
        assert [trial.number for trial, _ in self.search(self.build())] == list(range(self.trials))

    def test_a_space_of_single_values_is_exhausted_by_the_start(self) -> None:
        """A method that `repeats` asks for the start again."""
        method, (_, start) = self.build("single values"), SPACES["single values"]

        first = method.ask()
        method.tell(first, Result.ok(0.5))

        assert first == Trial(0, start)
        if self.repeats:
            assert method.ask() == Trial(1, start)
            return
        try:
            again = method.ask()
        except Exhausted:
            return
        pytest.fail(f"asked for {again} when nothing new is left: raise Exhausted, or set `repeats = True`")

    def test_as_many_trials_at_once_as_it_says(self) -> None:
        if "parallel" not in METHODS.options(self.method, {}):
            pytest.skip(f"{self.method} has no option `parallel`: one trial at a time")
        method, (space, _) = self.build(parallel=3), SPACES["mixed"]

        for turn in range(5):
            trials = [method.ask() for _ in range(3)]
            assert [trial.number for trial in trials] == [3 * turn, 3 * turn + 1, 3 * turn + 2]
            for trial in reversed(trials):
                space.check(trial.config)
                method.tell(trial, Result.ok(loss(trial.config)))

    # --- reproducibility ----------------------------------------------------------------------

    @pytest.mark.usefixtures("replays")
    def test_the_same_seed_asks_the_same(self) -> None:
        assert self.search(self.build(seed=3)) == self.search(self.build(seed=3))

    def test_another_seed_asks_otherwise(self) -> None:
        assert self.search(self.build(seed=3)) != self.search(self.build(seed=4))

    @pytest.mark.usefixtures("replays")
    def test_a_replay_asks_the_same(self) -> None:
        """An interrupted run is resumed in this way, with copies of the earlier trials."""
        results = copy.deepcopy(self.search(self.build()))
        replayed = self.build()

        for trial, result in results:
            assert replayed.ask() == trial
            replayed.tell(trial, result)

    @pytest.mark.usefixtures("replays")
    def test_another_process_asks_the_same(self) -> None:
        """Python's hashes of strings differ between the two processes."""
        code = (
            "from cfo_bench.testing.searches import build, search; "
            f"print(search(build({self.method!r}, {dict(self.options)!r}, 'mixed', 0), {self.trials}))"
        )
        path = os.pathsep.join(filter(None, sys.path))  # pytest may have added to it

        answer = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": path},
        )

        assert answer.returncode == 0, answer.stderr
        assert answer.stdout.rstrip() == repr(self.search(self.build()))

    # --- failures and wrong arguments ---------------------------------------------------------

    @pytest.mark.parametrize("trouble", TROUBLE)
    def test_it_continues_whatever_the_results_of_its_trials(self, trouble: str) -> None:
        for kind in self.troubled_spaces:
            space, _ = SPACES[kind]

            results = self.search(self.build(kind), TROUBLE[trouble])

            assert len(results) >= _FEWEST_TRIALS, kind
            for trial, _ in results:
                space.check(trial.config)

    def test_a_start_outside_the_space_is_refused(self) -> None:
        space, start = SPACES["one dimension"]

        with pytest.raises(SpaceError, match=r"x = 700\.0"):
            METHODS.load(self.method)(space, {**start, "x": 700.0}, 0, **METHODS.options(self.method, {}))

    def test_an_unknown_option_is_refused(self) -> None:
        """By the command line, and by the class itself, which must not ignore unknown arguments."""
        with pytest.raises(OptionError, match=r"has no option 'wings': its options are ") as refused:
            METHODS.options(self.method, {"wings": 2})
        assert "\n" not in str(refused.value)
        with pytest.raises(TypeError, match="wings"):
            METHODS.load(self.method)(*SPACES["mixed"], 0, wings=2)

    def test_every_option_has_a_type_that_its_default_fits(self) -> None:
        """The command line checks a value by the type."""
        cls = METHODS.load(self.method)
        defaults = default_options(cls)

        assert set(defaults) <= set(parameter_types(cls))
        assert METHODS.options(self.method, defaults) == defaults

    # --- side effects -------------------------------------------------------------------------

    def test_trials_and_the_start_stay_as_they_were(self) -> None:
        """A run records a trial after the method has received its result."""
        space, start = SPACES["mixed"]
        given, method = dict(start), METHODS.load(self.method)
        optimizer: Optimizer = method(space, given, 0, **METHODS.options(self.method, self.options))
        asked, copies = [], []

        for _ in range(self.trials):
            trial = optimizer.ask()
            asked.append(trial)
            copies.append(copy.deepcopy(trial))
            optimizer.tell(trial, Result.ok(loss(trial.config)))

        assert asked == copies
        assert given == start

    def test_it_prints_nothing(self, capfd: pytest.CaptureFixture[str]) -> None:
        self.search(self.build())

        assert capfd.readouterr() == ("", "")

    def test_it_leaves_no_files_threads_or_processes_behind(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.build()  # threads that its package starts when it is imported do not count
        method = METHODS.load(self.method)
        options = METHODS.options(self.method, self.options)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        threads, processes = threading.active_count(), multiprocessing.active_children()

        self.search(method(*SPACES["mixed"], 0, **options))

        assert list(tmp_path.iterdir()) == []
        assert threading.active_count() == threads
        assert multiprocessing.active_children() == processes

    def test_numpys_global_generator_is_left_alone(self) -> None:
        before = repr(np.random.get_state())  # noqa: NPY002

        self.search(self.build())

        assert repr(np.random.get_state()) == before  # noqa: NPY002
