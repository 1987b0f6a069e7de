"""docs/python.md: its code runs, in order, as one script."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from cfo_bench.results import frames
from tests.helpers.program import ROOT, clean_environment

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))

    answer = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=110,
    )

    assert (answer.returncode, answer.stderr) == (0, "")
    assert len(blocks) >= 3
    assert answer.stdout.count("already done") == 8
    assert "config.n_estimators" in answer.stdout


def test_every_column_of_the_frame_of_runs_is_explained() -> None:
    columns = [*frames.RUN_KEYS, *frames._RUN_COLUMNS, *frames._END_COLUMNS]

    assert [name for name in columns if f"`{name}`" not in PAGE] == []
