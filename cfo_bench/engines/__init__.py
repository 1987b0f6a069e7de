"""Engines hand out many runs: `local` side by side on this machine."""
