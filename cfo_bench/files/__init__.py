"""Files: written whole or not at all, locked, kept in a cache folder, read as YAML."""
