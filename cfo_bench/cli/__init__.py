"""The command line: one command a file, a thin skin; heavy imports inside the function."""
