"""Files: atomic writes, locks, a cache, and YAML with line numbers."""
