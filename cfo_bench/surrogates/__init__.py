"""Surrogates of recorded traces: models that are evaluated instead of training.

building  reads the trials of results folders, fits their surrogates, checks their quality, writes them
trials    the trials of results folders, by learner and task
boosting  the models of loss and seconds: trees that xgboost fits, stored as plain arrays
fitting   a surrogate of the trials of one learner on one task
quality   how well it predicts a method that was left out of the fit

`recordings/` has the formulas of a surrogate and its file, and `learners/` the learner that looks it up.
"""
