"""The command line: one command per file, a thin layer over the library."""
