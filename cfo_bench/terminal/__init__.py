"""What a user sees and types on a terminal: options, progress, tables, and the summary of runs."""
