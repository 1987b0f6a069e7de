"""Records on disk: traces and the results folder with them, its plan, status, summary and merge."""
