"""What to run: the model of a suite, its file, and the runs that it becomes."""
