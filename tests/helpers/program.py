"""The program as a user runs it: where it is, and an environment without our own settings."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def clean_environment(**more: str) -> dict[str, str]:
    """What a subprocess gets: nothing of ours from outside, and this checkout's code."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("CFO_BENCH", "_CFO_BENCH"))
    }
    return {**kept, "PYTHONPATH": str(ROOT), **more}
