"""Input and output on a terminal: options, progress, tables, and the summary of runs."""
