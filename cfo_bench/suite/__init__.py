"""What to run: the model of a suite, its file, and the runs that it becomes.

`model` is the suite itself; `choices`, `cluster` and `folds` are its parts. `file` reads it from YAML,
`options` and `expansion` turn it into runs, `command` writes the command that repeats one, and `schemas`
makes the JSON Schemas.
"""
