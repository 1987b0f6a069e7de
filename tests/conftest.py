"""What every test stands on: one thread a process, and the data that is shared beside the checkout."""

from __future__ import annotations

import os
import signal

# Before the first import of numpy, which reads them once.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
# A user's own settings, such as a folder of data, are none of the tests' business.
OF_TESTS = {"CFO_BENCH_SHARED", "CFO_BENCH_REQUIRE_SHARED"}
for variable in [name for name in os.environ if name.startswith("CFO_BENCH_") and name not in OF_TESTS]:
    del os.environ[variable]

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers import traces

# A shell starts what it puts into the background with Ctrl-C ignored, and programs inherit that. The tests
# of Ctrl-C have to work there, too.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]

WriteRun = Callable[..., Path]

# An example's wall time says more about the machine's neighbours than about the code.
settings.register_profile("cfo-bench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cfo-bench")


# Their tests start whole commands, each of which takes seconds.
COMMAND_FOLDERS = [ROOT / "tests" / name for name in ("adversary", "cli", "faults")]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of such a test with many cases, `make test` runs the first one, and `make test-full` all of them."""
    seen = set()
    for item in items:
        if item.path.parent in COMMAND_FOLDERS and isinstance(item, pytest.Function):
            test = (item.path, item.originalname)
            if test in seen:
                item.add_marker(pytest.mark.slow)
            seen.add(test)


@pytest.fixture(scope="session", autouse=True)
def a_cache_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing that a test prepares is kept where the user's own runs would find it."""
    os.environ["CFO_BENCH_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data sets and printed tables, named by CFO_BENCH_SHARED.

    Where it is absent the test is skipped, or fails when CFO_BENCH_REQUIRE_SHARED is set.
    """
    folder = (ROOT / os.environ.get("CFO_BENCH_SHARED", "../shared")).resolve()
    if not (folder / "data" / "index.csv").is_file():
        reason = f"no shared data in {folder}: set CFO_BENCH_SHARED to the folder that holds data/index.csv"
        if os.environ.get("CFO_BENCH_REQUIRE_SHARED"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Writes traces below `results` of the test's folder."""
    return partial(traces.write_run, tmp_path / "results")
