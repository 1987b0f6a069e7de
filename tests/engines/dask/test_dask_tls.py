"""A cluster with TLS: a command joins it with its certificates, and not without."""

from __future__ import annotations

from pathlib import Path

import pytest
from distributed.security import Security


@pytest.fixture
def certificates(tmp_path: Path) -> dict[str, Path]:
    security = Security.temporary()
    files = {}
    for part, text in {
        "ca-file": security.tls_ca_file,
        "cert": security.tls_worker_cert,
        "key": security.tls_worker_key,
    }.items():
        files[part] = tmp_path / f"{part}.pem"
        files[part].write_text(text)
    return files


def test_a_command_without_a_certificate_is_turned_away_in_one_line(bench, certificates: dict[str, Path]):
    options = [word for part, path in certificates.items() for word in (f"--tls-{part}", path)]
    bench.scheduler("--protocol", "tls", *options)
    address = f"tls://127.0.0.1:{bench.port}"
    worker = ["--nthreads", 1, "--memory-limit", "2GB", "--no-nanny", "--no-dashboard", *options]
    bench.start("-m", "distributed.cli.dask_worker", address, *worker)
    words = ["-m", "cfo_bench", "run", *bench.real("0", 5), "--scheduler", address]

    code, out = bench.finish(bench.start(*words))
    assert code == 2 and "Traceback" not in out, out
    last = out.strip().splitlines()[-1]
    assert last.startswith("cfo-bench: ") and address in last and "DASK_DISTRIBUTED__COMM__TLS" in last
    assert not bench.traces()

    tls = "DASK_DISTRIBUTED__COMM__TLS"
    environment = {
        f"{tls}__CA_FILE": certificates["ca-file"],
        f"{tls}__CLIENT__CERT": certificates["cert"],
        f"{tls}__CLIENT__KEY": certificates["key"],
    }
    code, out = bench.finish(bench.start(*words, **{name: str(path) for name, path in environment.items()}))
    assert code == 0 and "has no TLS" not in out, out
    bench.assert_whole(1, 5)
