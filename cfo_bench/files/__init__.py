"""Files: written whole or not at all, locked, cached, read as YAML."""
