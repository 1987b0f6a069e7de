"""An honest task source, and one for each way to break the contract; `breaks` names the check for it."""

from __future__ import annotations

import numpy as np


class Honest:
    """How many pips two dice show."""

    breaks = None
    seed = 0
    throws = 200
    target = "sum"

    def names(self):
        return ["two-dice"]

    def load(self, name):
        import pandas as pd

        pips = np.random.default_rng(self.seed).integers(1, 7, (self.throws, 2))
        frame = pd.DataFrame({"first": pips[:, 0], "second": pips[:, 1], "sum": pips.sum(axis=1) * 0.5})
        return frame, self.target


class NamesATaskTwice(Honest):
    breaks = "test_its_names_are_texts_that_can_name_a_folder_each_once"

    def names(self):
        return ["two-dice", "two-dice"]


class NamesAFolder(Honest):
    breaks = "test_its_names_are_texts_that_can_name_a_folder_each_once"

    def names(self):
        return ["../two-dice"]


class LoadsEverythingToNameIt(Honest):
    breaks = "test_its_names_are_listed_without_loading_anything_heavy"

    def names(self):
        self.load("two-dice")
        return super().names()


class HasNoTarget(Honest):
    breaks = "test_a_task_is_a_frame_with_its_target_among_the_columns"
    target = "product"


class ThrowsAgain(Honest):
    breaks = "test_a_task_is_the_same_whenever_it_is_loaded"
    seed = None


class HasTooFewRows(Honest):
    breaks = "test_a_task_is_split_into_folds_and_becomes_arrays"
    throws = 5
