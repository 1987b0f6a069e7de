"""Records on disk: traces, the results folder that holds them, and its plan, status, summary and merge."""
