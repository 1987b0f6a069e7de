"""Writes what follows from the settings: the JSON Schema of a suite, and the table of keys in docs/suites.md.

    python scripts/schemas.py

To be run after a setting was added or changed; a test fails until it was.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from cfo_bench.suite.file import suite_schema, table_of_keys

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "suites.md"


def made() -> dict[Path, str]:
    """The contents that each file should have."""
    suite = ROOT / "configs" / "suite.schema.json"  # beside the suites, whose first lines name it
    page = PAGE.read_text(encoding="utf-8")
    table = table_of_keys()
    return {
        suite: _json(suite_schema()),
        PAGE: re.sub(r"^\| key \|(.*\n\|)*.*\n", lambda _: table, page, count=1, flags=re.MULTILINE),
    }


def _json(schema: object) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
