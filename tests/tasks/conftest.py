"""OpenML on this machine: copies of real cache files, and a server on loopback that hands them out."""

from __future__ import annotations

import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cfo_bench.tasks import fetching


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home with nothing in it: no store, no caches, no configuration."""
    for variable in ("DATA", "TASKS", "OFFLINE", "STORE", "PMLB", "CACHE"):
        monkeypatch.delenv(f"CFO_BENCH_{variable}", raising=False)
    for variable in (
        "OPENML_CACHE_DIR",
        "OPENML_SKIP_PARQUET",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
    ):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(fetching, "RETRY_SECONDS", (0.0, 0.0))
    return folder


def configure(home: Path, **settings: object) -> None:
    """The OpenML client's own configuration file."""
    path = home / ".config" / "openml" / "config"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every connection of this process is an error that nobody expects."""

    def refuse(*args: object) -> None:
        pytest.fail(f"a connection was made: {args[1:]}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def openml_cache(home: Path, shared: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A copy of one of the real caches, as the user's, for the server that it is of."""

    def copy(name: str, server: str = "www") -> Path:
        cache = home / "openml-cache"
        shutil.copytree(shared / "openml-cache" / name, cache, copy_function=shutil.copyfile)
        for folder in [cache, *cache.rglob("*")]:
            folder.chmod(0o755 if folder.is_dir() else 0o644)
        monkeypatch.setenv("OPENML_CACHE_DIR", str(cache))
        configure(home, server=f"https://{server}.openml.org/api/v1/xml")
        return cache

    return copy


@dataclass
class Server:
    """OpenML's API over the files of a cache; a fault is a function of the handler for one path."""

    files: Path
    url: str = ""
    asked: list[str] = field(default_factory=list)
    faults: dict[str, list[Callable[[Any, bytes], None]]] = field(default_factory=dict)

    def fail(self, path: str, *faults: Callable[[Any, bytes], None]) -> None:
        """What happens at the next requests of a path, one after the other; after them all is well."""
        self.faults[path] = list(faults)

    def answer(self, path: str) -> bytes | None:
        api = "/api/v1/xml"
        for pattern, file in (
            (rf"{api}/task/(\d+)", "tasks/{}/task.xml"),
            (rf"{api}/data/(\d+)", "datasets/{}/description.xml"),
            (rf"{api}/data/features/(\d+)", "datasets/{}/features.xml"),
            (r"/splits/(\d+)", "tasks/{}/datasplits.arff"),
            (r"/arff/(\d+)", "datasets/{}/dataset.arff"),
        ):
            if match := re.fullmatch(pattern, path):
                source = self.files / file.format(match[1])
                return self.rewritten(source, match[1]) if source.is_file() else None
        if path == f"{api}/study/271":
            return (
                b'<oml:study xmlns:oml="http://openml.org/openml"><oml:id>271</oml:id>'
                b"<oml:main_entity_type>task</oml:main_entity_type><oml:name>s</oml:name>"
                b"<oml:description>d</oml:description><oml:status>active</oml:status>"
                b"<oml:creation_date>2020-01-01</oml:creation_date><oml:creator>1</oml:creator>"
                b"<oml:tasks><oml:task_id>19</oml:task_id><oml:task_id>97</oml:task_id></oml:tasks></oml:study>"
            )
        return None

    def rewritten(self, source: Path, number: str) -> bytes:
        """Addresses inside the answers are ours."""
        content = source.read_bytes()
        if source.suffix != ".xml":
            return content
        text = content.decode()
        text = re.sub(r"(<oml:data_splits_url>)[^<]*", rf"\g<1>{self.url}/splits/{number}", text)
        text = re.sub(r"<oml:parquet_url>[^<]*</oml:parquet_url>", "", text)
        return re.sub(r"(<oml:url>)[^<]*", rf"\g<1>{self.url}/arff/{number}", text).encode()


@pytest.fixture
def server(home: Path, shared: Path) -> Iterator[Server]:
    """The client is pointed at it by its own configuration file, its cache is empty."""
    known = Server(shared / "openml-cache" / "openml-python-docs" / "org" / "openml" / "test")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            known.asked.append(path)
            content = known.answer(path)
            faults = known.faults.get(path)
            if faults:
                faults.pop(0)(self, content or b"")
            elif content is None:
                self.reply(412, b'<oml:error xmlns:oml="http://openml.org/openml"><oml:code>151</oml:code>'
                                b"<oml:message>Unknown task</oml:message></oml:error>")  # fmt: skip
            else:
                self.reply(200, content)

        def reply(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    known.url = f"http://127.0.0.1:{listening.server_address[1]}"
    configure(home, server=f"{known.url}/api/v1/xml")
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield known
    listening.shutdown()
    thread.join()
    listening.server_close()
