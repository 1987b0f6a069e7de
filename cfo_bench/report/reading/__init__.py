"""From traces to digests: reading them fast, and leaving out, with a warning, what can't be compared."""
