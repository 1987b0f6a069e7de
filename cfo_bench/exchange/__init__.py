"""Trials for and from other programs: tables, Optuna, DeepCAVE, SMAC, FLAML.

`exporting` and `importing` are the ways in; every other file knows one format.
"""
