"""The program's entry: what Ctrl-C does while it is being loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.helpers.program import ROOT

# In the place of a compiled module that is being loaded when Ctrl-C comes: it raises what numpy's and
# scipy's raise then.
IN_PYTHON = "raise KeyboardInterrupt"
IN_A_COMPILED_MODULE = "raise ImportError('initialization failed') from KeyboardInterrupt()"
NO_CTRL_C = "raise ImportError('initialization failed')"


def _start(loading: str) -> subprocess.CompletedProcess[str]:
    finder = (
        "import sys\n"
        "class Loads:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'click': {loading}\n"
        "sys.meta_path.insert(0, Loads())\n"
        "from cfo_bench.__main__ import main\n"
        "main()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", finder], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("loading", [IN_PYTHON, IN_A_COMPILED_MODULE])
def test_ctrl_c_while_the_program_loads_is_one_line(loading: str):
    result = _start(loading)
    assert (result.returncode, result.stderr) == (130, "cfo-bench: stopped\n")


def test_a_module_that_is_broken_is_not_taken_for_ctrl_c():
    result = _start(NO_CTRL_C)
    assert result.returncode == 1 and "initialization failed" in result.stderr
