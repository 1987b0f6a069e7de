"""A process that carries out cases: a line of JSON in for each, and lines of JSON out."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys
import traceback
from pathlib import Path

# As much as a command may take: a file without an end must not take the machine with it.
MEMORY_BYTES = 6 * 2**30

_PR_CAPBSET_DROP, _PR_SET_PDEATHSIG, _CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH, _SIGKILL = 24, 1, 1, 2, 9


def obey_permissions() -> None:
    """A process that is started after this can't read what is unreadable, not even as root."""
    libc = ctypes.CDLL(None)
    for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def set_up(folder: Path) -> None:
    """No network, no folders of the user's, nothing that the environment says."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for variable in [name for name in os.environ if name.startswith(("CFO_BENCH", "_CFO_BENCH", "XDG_"))]:
        del os.environ[variable]
    places = {
        "CFO_BENCH_CACHE": "cache",
        "CFO_BENCH_STORE": "store",
        "CFO_BENCH_PMLB": "pmlb",
        "OPENML_CACHE_DIR": "openml",
        "HOME": "home",
    }
    for variable, name in places.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        os.environ[variable] = str(folder / name)
    os.environ |= {"CFO_BENCH_OFFLINE": "1", "COLUMNS": "200", "NO_COLOR": "1"}


def main(folder: Path, seed: int, fd: int) -> None:
    set_up(folder)
    from tests.fuzz import cases

    with os.fdopen(fd, "w", buffering=1) as out:

        def say(**row: object) -> None:
            out.write(json.dumps(row) + "\n")

        templates = cases.Templates(folder / "templates")
        say(ready=True)
        for line in sys.stdin:
            try:
                done = cases.carry_out(
                    cases.Job.parse(line.strip()),
                    seed,
                    folder / "case",
                    templates,
                    lambda word: say(command=word),
                )
                failures = [[one.signature, one.detail] for one in done.failures]
            except Exception as error:  # of the fuzzer itself
                done = cases.Done()
                failures = [[f"the fuzzer: {type(error).__name__}", traceback.format_exc()[-600:]]]
            say(inputs=done.inputs, commands=done.commands, failures=failures)


if __name__ == "__main__":
    die_with_parent()
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
