"""Nobody else can run code in the workers of our own Dask clusters."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from distributed.security import Security

from tests.helpers.commands import ROOT, Commands, faulty, wait_until

SBATCH = """#!/bin/sh
cp "$1" {jobs}/$$.job
setsid sh "$1" > "$1.out" 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = '#!/bin/sh\nkill -s TERM -- -"$1"\n'

# What another user of this machine would try, on one port. Dask's client waits for ever for an answer of a
# dashboard, which speaks HTTP: so it ends by an alarm, a while after it has loaded Dask.
INTRUDER = """
import logging, signal, sys
logging.disable(logging.CRITICAL)
from distributed import Client
signal.alarm(15)
try:
    with Client(f"tcp://{sys.argv[1]}", timeout=3) as client:
        print("ran", client.submit(lambda: 17).result(timeout=5), flush=True)
except Exception as error:
    print("kept out:", type(error).__name__)
"""


def listening(commands: Commands) -> set[str]:
    """The addresses at which processes of ours listen, IPv4 and IPv6."""
    inodes = set()
    for pid in commands.processes():
        for link in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                found.add(words[1])
    return found


def tls_clients(folder: Path) -> list[ssl.SSLContext]:
    """One without a certificate, and one with that of another cluster."""
    clients = [ssl.create_default_context() for _ in range(2)]
    for client in clients:
        client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    security = Security.temporary()
    for name in ("tls_client_cert", "tls_client_key"):
        (folder / name).write_text(getattr(security, name))
    clients[1].load_cert_chain(folder / "tls_client_cert", folder / "tls_client_key")
    return clients


def heard_by(context: ssl.SSLContext, port: int) -> bytes:
    """What a client of TLS hears first: Dask greets those that it takes."""
    try:
        plain = socket.create_connection(("127.0.0.1", port), timeout=10)
        with plain, context.wrap_socket(plain) as connection:
            return connection.recv(1)
    except OSError:
        return b""


def slurm(commands: Commands) -> dict[str, str]:
    """An environment with a Slurm of a few lines, which keeps the scripts of its jobs."""
    folder, jobs = commands.folder / "slurm", commands.folder / "jobs"
    folder.mkdir()
    jobs.mkdir()
    for name, text in {"sbatch": SBATCH.format(jobs=jobs), "scancel": SCANCEL}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": str(commands.folder)}


ON_SLURM = ["--cluster", "slurm", "--workers", "1"]
ON_SLURM += [word for key in ("cores=1", "memory=1GB", "interface=lo") for word in ("--cluster-option", key)]


@pytest.mark.parametrize("kind", ["local", "slurm"])
@pytest.mark.slow
def test_a_foreign_client_is_kept_out_of_our_own_cluster(commands: Commands, kind: str):
    words = faulty(budget=60, seconds=0.05, at=-1)
    more, environment = (
        (["--cluster", "local", "--workers", "1"], {}) if kind == "local" else (ON_SLURM, slurm(commands))
    )
    commands.start(*words, *more, **environment)
    wait_until(lambda: commands.results.exists() and len(commands.rows()) > 2, "the first trials", 90)
    addresses = listening(commands)
    assert addresses
    tried, clients = 0, tls_clients(commands.folder)
    for address in sorted(addresses):
        host, _, port = address.partition(":")
        assert host in ("0100007F", "00000000000000000000000001000000"), f"{address} is not loopback"
        answer = subprocess.run(
            [sys.executable, "-c", INTRUDER, f"127.0.0.1:{int(port, 16)}"],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            timeout=60,
        )
        assert "ran 17" not in answer.stdout, f"code was run through port {int(port, 16)}"
        assert [heard_by(client, int(port, 16)) for client in clients] == [b"", b""]
        tried += 1
    assert tried


def test_the_secrets_of_a_batch_systems_jobs_are_not_for_everybodys_eyes(commands: Commands):
    running = commands.start(*faulty(budget=60, seconds=0.05, at=-1), *ON_SLURM, **slurm(commands))
    jobs = commands.folder / "jobs"

    def text_of_the_job() -> str:  # "" until it is written
        return "".join(path.read_text() for path in jobs.glob("*.job"))

    wait_until(text_of_the_job, "a job", 60)
    text = text_of_the_job()
    assert "tls://" in text and "PRIVATE KEY" not in text
    keys = [Path(word) for word in text.replace("=", " ").split() if word.endswith((".pem", ".key"))]
    assert keys and all(key.stat().st_mode & 0o077 == 0 for key in keys)
    [folder] = {key.parent for key in keys}
    assert folder.stat().st_mode & 0o077 == 0
    os.killpg(running.pid, signal.SIGINT)
    running.communicate(timeout=60)
    assert not folder.exists()


@pytest.mark.slow
def test_the_keys_of_a_local_cluster_are_in_no_file(commands: Commands):
    words = faulty(budget=60, seconds=0.05, at=-1)
    commands.start(*words, "--cluster", "local", "--workers", "1", TMPDIR=str(commands.folder))
    wait_until(lambda: commands.results.exists() and len(commands.rows()) > 2, "the first trials", 90)
    files = [path for path in commands.folder.rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"PRIVATE KEY" in path.read_bytes()]


def test_a_scheduler_without_tls_is_remarked_on_once(commands: Commands):
    port = 20_000 + os.getpid() % 10_000
    words = ["--host", "127.0.0.1", "--port", str(port), "--dashboard-address", "127.0.0.1:0"]
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "CFO_BENCH_MARK": commands.mark},
        start_new_session=True,
    )
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1"],
        cwd=commands.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "CFO_BENCH_MARK": commands.mark, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    try:
        words = [*faulty(budget=60, seconds=0.01, at=-1), "--max-trials", 3, "--folds", "0-1"]
        result = commands(*words, "--scheduler", f"tcp://127.0.0.1:{port}")
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("TLS") == 1


@pytest.mark.parametrize("page", ["SECURITY.md", "docs/cluster.md"])
def test_the_docs_say_what_is_trusted(page: str):
    text = (ROOT / page).read_text()
    assert "TLS" in text and "trust" in text and "loopback" in text
