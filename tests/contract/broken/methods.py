"""Honest methods, and one for each way to break the contract: `breaks` names the check that sees it.

`settings` are other attributes of the contract.
"""

from __future__ import annotations

import tempfile
import threading
from typing import ClassVar

import numpy as np

from cfo_bench.plugins import Exhausted, Trial


class Honest:
    """Random search that never asks for a configuration twice."""

    breaks = None

    def __init__(self, space, start, seed, *, parallel: int = 1):
        self.space, self.start = space, space.check(start)
        self.rng = np.random.default_rng(seed)
        self.asked = 0
        self.seen = set()

    def ask(self):
        config = self.config()
        self.asked += 1
        return Trial(self.asked - 1, config)

    def config(self):
        for _ in range(100):
            config = self.space.sample(self.rng) if self.seen else dict(self.start)
            if repr(config) not in self.seen:
                self.seen.add(repr(config))
                return config
        raise Exhausted("nothing new is left")

    def tell(self, trial, result):
        pass


class HonestAndForgetful(Honest):
    """Asks otherwise each time, and says so."""

    replays = False

    def __init__(self, space, start, seed, *, parallel: int = 1):
        super().__init__(space, start, None, parallel=parallel)


class HonestAndRepeating(Honest):
    settings: ClassVar = {"repeats": True}

    def config(self):
        return self.space.sample(self.rng) if self.asked else dict(self.start)


class IgnoresTheStart(Honest):
    breaks = "test_the_first_trial_is_the_start"

    def config(self):
        self.seen.add("")
        return super().config()


class LeavesTheSpace(Honest):
    breaks = "test_every_configuration_is_a_plain_one_of_the_space"

    def config(self):
        config = super().config()
        return {**config, "x": -7.0} if "x" in config and self.asked == 4 else config


class AsksForNumpysNumbers(Honest):
    breaks = "test_every_configuration_is_a_plain_one_of_the_space"

    def config(self):
        return {
            key: np.float64(value) if type(value) is float else value
            for key, value in super().config().items()
        }


class RepeatsNumbers(Honest):
    breaks = "test_trials_are_numbered_from_zero"

    def ask(self):
        trial = super().ask()
        return Trial(trial.number // 2, trial.config)


class NeverEnds(HonestAndRepeating):
    breaks = "test_a_space_of_single_values_is_exhausted_by_the_start"
    settings: ClassVar = {}


class RepeatsNothing(Honest):
    breaks = "test_a_space_of_single_values_is_exhausted_by_the_start"
    settings: ClassVar = {"repeats": True}


class CountsWhatItWasTold(Honest):
    breaks = "test_as_many_trials_at_once_as_it_says"

    def ask(self):
        return Trial(self.asked, self.config())

    def tell(self, trial, result):
        self.asked += 1


class NotByTheSeed(Honest):
    breaks = "test_the_same_seed_asks_the_same"

    def __init__(self, space, start, seed, *, parallel: int = 1):
        super().__init__(space, start, None, parallel=parallel)


class SameForEverySeed(Honest):
    breaks = "test_another_seed_asks_otherwise"

    def __init__(self, space, start, seed, *, parallel: int = 1):
        super().__init__(space, start, 0, parallel=parallel)


class KnowsItsTrialsByIdentity(Honest):
    breaks = "test_a_replay_asks_the_same"

    def ask(self):
        self.last = super().ask()
        return self.last

    def tell(self, trial, result):
        if trial is not self.last:
            self.rng.random()


class DrawsByHash(Honest):
    breaks = "test_another_process_asks_the_same"

    def __init__(self, space, start, seed, *, parallel: int = 1):
        super().__init__(space, start, abs(hash(f"seed {seed}")), parallel=parallel)


class CountsOnALoss(Honest):
    breaks = "test_it_continues_whatever_the_results_of_its_trials"

    def tell(self, trial, result):
        self.best = min(result.loss, 1.0)


class TakesAnyStart(Honest):
    breaks = "test_a_start_outside_the_space_is_refused"

    def __init__(self, space, start, seed, *, parallel: int = 1):
        super().__init__(space, {param.name: param.at(0) for param in space}, seed, parallel=parallel)
        self.start = start


class TakesAnyOption(Honest):
    breaks = "test_an_unknown_option_is_refused"

    def __init__(self, space, start, seed, *, parallel: int = 1, **others):
        super().__init__(space, start, seed, parallel=parallel)


class OptionWithoutAType(Honest):
    breaks = "test_every_option_has_a_type_that_its_default_fits"

    def __init__(self, space, start, seed, *, parallel: int = 1, sides=6):
        super().__init__(space, start, seed, parallel=parallel)


class OptionOfAnotherType(Honest):
    breaks = "test_every_option_has_a_type_that_its_default_fits"

    def __init__(self, space, start, seed, *, parallel: int = 1, sides: int = "six"):
        super().__init__(space, start, seed, parallel=parallel)


class ChangesItsTrials(Honest):
    breaks = "test_trials_and_the_start_stay_as_they_were"

    def tell(self, trial, result):
        trial.config.update(self.space.sample(self.rng))


class ChangesTheStart(Honest):
    breaks = "test_trials_and_the_start_stay_as_they_were"

    def __init__(self, space, start, seed, *, parallel: int = 1):
        super().__init__(space, start, seed, parallel=parallel)
        start.update(space.sample(self.rng))


class Prints(Honest):
    breaks = "test_it_prints_nothing"

    def tell(self, trial, result):
        print(trial)


class LeavesAFile(Honest):
    breaks = "test_it_leaves_no_files_threads_or_processes_behind"

    def tell(self, trial, result):
        tempfile.mkstemp()


class LeavesAThread(Honest):
    breaks = "test_it_leaves_no_files_threads_or_processes_behind"

    def tell(self, trial, result):
        if trial.number == 3:
            threading.Thread(target=threading.Event().wait, daemon=True).start()


class DrawsFromTheGlobalGenerator(Honest):
    breaks = "test_numpys_global_generator_is_left_alone"

    def config(self):
        np.random.random()  # noqa: NPY002
        return super().config()
