"""Models outside a search: the best configuration as a Python script, or trained on all rows and saved.

best    the best configuration for each task and learner; the public functions
recipe  the definition of a model: learner, configuration, options, problem; training on all rows
script  the script that trains it with the library alone
saving  the file of a trained model and its description beside it, written and read
catboost_model, estimator_model, forest_model, lightgbm_model, neighbours_model, network_model, xgboost_model
        the models of one learner: fixed settings, code, file format

No file is a pickle: a pickle runs code when it is loaded.
"""

from __future__ import annotations

from cfo_bench.models.recipe import ModelRecipe, kind_of
from cfo_bench.models.script import ScriptColumns, script

__all__ = ["ModelRecipe", "ScriptColumns", "kind_of", "script"]
