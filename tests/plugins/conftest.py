"""dice is a package of its own: tests/test_plugin_package.py installs it and runs its tests."""

collect_ignore = ["dice"]
