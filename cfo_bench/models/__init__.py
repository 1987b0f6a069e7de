"""Models outside a search: a found configuration as a Python script, trained on all rows, kept in a file.

recipe          what a model is made from: learner, configuration, options, problem
script          the script that trains it with the plain library; common_code has the part that all share
xgboost_model, lightgbm_model, forest_model, neighbours_model, network_model
                the part of one learner: its fixed settings, its code, its file format
training, saving
                training on all rows of a data set; the file and what is written beside it, read back

No file is a pickle: a pickle runs code when it is loaded. Models import learners and tasks; the library
imports models.
"""

from __future__ import annotations

from cfo_bench.models.recipe import ModelRecipe, kind_of
from cfo_bench.models.script import script

__all__ = ["ModelRecipe", "kind_of", "script"]
