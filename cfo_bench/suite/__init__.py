"""What to run: a suite, its file, and its runs.

model           the suite: what to run, how and where
choices         the selected methods and learners with their options, and the tasks
file            suites in YAML files, and their JSON Schema
chosen_options  the options of each method and learner, checked
simulation      a suite on surrogates instead of learners and data
expansion       the runs of a suite: one RunSpec for each (learner, task, method, fold, seed)
"""
