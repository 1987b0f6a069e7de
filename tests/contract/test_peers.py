"""The peers of examples/peers/ keep the contract of methods, each installed from the package index."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from cfo_bench.errors import UserError
from cfo_bench.optimizers import METHODS
from cfo_bench.testing import MethodContract

PEERS = Path(__file__).resolve().parents[2] / "examples" / "peers"


def command(python: Path | str, script: Path) -> str:
    return f"exec:{shlex.join([str(python), str(script)])}"


@pytest.fixture(scope="class")
def environment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One for the peer of the class, made as docs/methods.md says. It takes up to 2 GB, and is removed."""
    name, pip_options = request.cls.peer, request.cls.pip_options
    folder = tmp_path_factory.mktemp(name)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "pip", "install", "--quiet", *pip_options]
    subprocess.run([*pip, "-r", PEERS / f"{name}.txt"], check=True)
    request.cls.method = command(folder / "bin" / "python", PEERS / f"ask_{name}.py")
    yield
    shutil.rmtree(folder)


class TestWhatThePeersShare(MethodContract):
    """Around random draws, by a package that prints to stdout."""

    method = command(sys.executable, Path(__file__).parent / "random_peer.py")
    trials = 10


@pytest.mark.parametrize(
    ("name", "package"), [("ax", "ax-platform"), ("bore", "syne-tune"), ("hebo", "HEBO")]
)
def test_a_python_that_lacks_the_package_of_a_peer_is_named_in_one_line(name: str, package: str) -> None:
    with pytest.raises(UserError) as refused:
        METHODS.load(command(sys.executable, PEERS / f"ask_{name}.py"))

    assert f"reports: {package} is not installed for {sys.executable}: name the Python" in str(refused.value)
    assert "\n" not in str(refused.value)


# An installation may take long; the first check of a peer waits for it.
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("environment")
class PeerContract(MethodContract):
    """The checks of a peer, in few trials: each check starts the program anew."""

    peer: ClassVar[str]
    pip_options: ClassVar[tuple[str, ...]] = ()
    trials = 7
    troubled_spaces = ("mixed",)


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="HEBO needs Python 3.11: its numpy has no newer wheel"
)
class TestHebo(PeerContract):
    peer = "hebo"
    options: ClassVar = {"rand_sample": 4}


class TestAx(PeerContract):
    peer = "ax"
    options: ClassVar = {"initialization_budget": 4}


class TestBore(PeerContract):
    peer = "bore"
    pip_options = ("--no-deps",)
    options: ClassVar = {"init_random": 4}
