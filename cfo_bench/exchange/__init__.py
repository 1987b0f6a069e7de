"""Export of trials to other programs, and import from them: tables, Optuna, DeepCAVE, SMAC, FLAML.

`exporting` and `importing` contain the public functions; every other file handles one format, or is shared.
"""
