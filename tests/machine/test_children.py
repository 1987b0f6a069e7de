"""A process that adopts orphans can end all that was started below it, and only that."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import os, subprocess, sys, time
from cfo_bench.machine.processes import adopt_orphans, end_children

adopt_orphans()
subprocess.Popen(["sleep", "60"])
keep = subprocess.Popen(["sleep", "60"])
if os.fork() == 0:                       # a double fork, with children of its own
    os.setsid()
    if os.fork() == 0:
        subprocess.Popen(["sh", "-c", "trap '' TERM HUP; sleep 60; sleep 60"])
        time.sleep(60)
    os._exit(0)
time.sleep(0.5)
end_children(os.getpid(), but=[keep.pid])
print(*[line for line in subprocess.check_output(["ps", "-o", "stat=,args=", "--ppid", str(os.getpid())],
      text=True).splitlines() if "sleep" in line and not line.startswith("Z")], sep=";")
keep.kill()
"""


def test_double_forks_and_new_sessions_end_and_what_is_kept_stays() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=60
    )
    assert [line.split()[1:] for line in answer.stdout.split(";")] == [["sleep", "60"]]
    left = subprocess.check_output(["ps", "-eo", "args="], text=True)
    assert "trap '' TERM HUP; sleep 60; sleep 60" not in left
