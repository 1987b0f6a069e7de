"""`python -m tests.fuzz`: for some time, for some cases, or one case again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import islice

from tests.fuzz.cases import KINDS, Job, jobs
from tests.fuzz.driver import fuzz


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for so long")
    parser.add_argument("--cases", type=int, help="at most so many cases")
    parser.add_argument("--inputs", type=float, default=float("inf"), help="until there were so many inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2, help="processes side by side")
    parser.add_argument("--kind", choices=KINDS, action="append", help="only cases of this kind")
    parser.add_argument("--case", help="one case again, as the list of failures names it")
    given = parser.parse_args()
    if given.case is None and given.cases is None and min(given.seconds, given.inputs) == float("inf"):
        parser.error("give --seconds, --inputs, --cases or --case: there is no end to it otherwise")
    wanted: Iterator[Job] = (job for job in jobs() if given.kind is None or job.kind in given.kind)
    if given.case is not None:
        wanted, given.workers = iter([Job.parse(given.case)]), 1
    counts = fuzz(
        islice(wanted, given.cases),
        given.seed,
        given.seconds,
        given.workers,
        given.inputs,
        say=lambda line: print(line, flush=True),
    )
    print("\n".join(counts.lines(given.seed)))
    return 1 if counts.failures else 0


if __name__ == "__main__":
    sys.exit(main())
