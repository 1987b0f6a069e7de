"""From traces to runs: reading them, and leaving out, with a warning, what can't be compared."""
