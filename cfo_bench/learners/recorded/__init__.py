"""Learners that don't train: they look up losses and seconds that somebody recorded.

objective   how a look-up becomes a trial's result, for all of them
surrogate   surrogate:xgboost and the like: models of one's own traces
tables      hpobench-mlp and hpolib: every configuration of a grid was trained
yahpo       yahpo:NAME: a network was fitted to very many trainings, and predicts those that nobody did
"""
