"""Reads runs from traces, and leaves out those that cannot be compared, with a warning."""
