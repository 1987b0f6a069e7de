"""Surrogates of one's own traces: models that stand for training.

trials    the trials of a results folder, by learner and task
boosting  trees fitted by xgboost, kept as plain arrays
models    the models of loss and seconds, and the scale of losses
cover     where something was recorded
fitting   a surrogate from the trials of one learner on one task
quality   how well it predicts a method that it has not seen

`recordings/` has what a surrogate answers and its file, and `learners/recorded/` the learner that asks it.
"""
