"""Write `expected/` anew, from what the present code answers.

    python -m tests.golden.make            # every case
    python -m tests.golden.make report     # only cases whose name contains this text

The expected answers are those of cfo-bench 0.2.0. Run this only to accept a change that is wanted, look at
the difference with `git diff tests/golden/expected`, and explain it in the commit. The results folders in
`data/` are never changed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.golden.answers import CASES, EXPECTED, expected_path, make


def compact(answer: Any, depth: int = 0) -> str:
    """JSON with a line for each of the outer entries, so that a difference is readable."""
    inner = " " * (depth + 1)
    if depth < 4 and isinstance(answer, dict) and answer:
        entries = [f"{inner}{json.dumps(key)}: {compact(one, depth + 1)}" for key, one in answer.items()]
        return "{\n" + ",\n".join(entries) + "\n" + " " * depth + "}"
    if depth < 4 and isinstance(answer, list) and any(isinstance(one, dict | list) for one in answer):
        return (
            "[\n" + ",\n".join(inner + compact(one, depth + 1) for one in answer) + "\n" + " " * depth + "]"
        )
    return json.dumps(answer, ensure_ascii=False)


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    EXPECTED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in CASES:
            if wanted in name:
                answer = make(name, Path(folder))
                expected_path(name).write_text(compact(answer) + "\n", encoding="utf-8")
                print(name)


if __name__ == "__main__":
    main()
