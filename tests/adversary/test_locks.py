"""A file system that has no locks: said in one clear line, with a way that works or a refusal."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers.commands import ROOT, Commands, no_stack_trace, virtual

# What flock answers on an NFS without its lock daemon, and on a Lustre that is mounted without flock.
SHIM = """
#include <errno.h>
#include <unistd.h>
int flock(int fd, int operation) {{ errno = {error}; return -1; }}
"""


@pytest.fixture(params=["ENOLCK", "ENOSYS", "EOPNOTSUPP"])
def without_locks(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """An environment in which flock fails as it does there."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to make flock fail with")
    (tmp_path / "shim.c").write_text(SHIM.format(error=request.param))
    library = tmp_path / "shim.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "shim.c"], check=True)
    return {"LD_PRELOAD": str(library)}


def test_a_file_system_without_locks_is_said_in_one_clear_line(
    commands: Commands, without_locks: dict[str, str]
):
    result = commands(*virtual(), seconds=60, **without_locks)
    no_stack_trace(result, 0, 2)
    said = [line for line in result.stderr.splitlines() if "lock" in line]
    assert len(said) == 1 and "another" not in said[0], result.stderr
    if result.returncode == 0:
        assert len(commands.rows()) == 5


def test_readers_need_no_locks(commands: Commands, without_locks: dict[str, str]):
    assert commands(*virtual()).returncode == 0
    for words in (
        ["status", "results"],
        ["report", "results", "--format", "csv"],
        ["merge", "results", "-o", "m"],
    ):
        no_stack_trace(commands(*words, **without_locks), 0)


def test_two_commands_do_not_write_one_run_where_there_are_no_locks(
    commands: Commands, without_locks: dict[str, str]
):
    running = [commands.start(*virtual(folds="all", trials=50), **without_locks) for _ in range(2)]
    for process in running:
        process.communicate(timeout=60)
    for path in commands.results.rglob("*.jsonl"):
        kinds = [line[:14] for line in path.read_bytes().splitlines()]
        assert kinds.count(b'{"kind":"run",') == 1 and len(kinds) <= 52, path


def test_the_docs_tell_of_nfs_and_lustre():
    text = "".join((ROOT / "docs" / name).read_text() for name in ("suites.md", "cluster.md", "trace.md"))
    assert "NFS" in text and "Lustre" in text and "flock" in text
