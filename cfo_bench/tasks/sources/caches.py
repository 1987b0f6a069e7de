"""Local copies of OpenML's and PMLB's files: their folders, and the files of a task in them.

OpenML's client is not imported, because this takes seconds. Only `give_back` writes to its cache, and it only
adds complete files.
"""

from __future__ import annotations

import configparser
import os
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlparse

from cfo_bench.errors import DataError
from cfo_bench.tasks.sources.origins import Origin

SERVER = "https://www.openml.org/api/v1/xml"
XML_NAMES = {"oml": "http://openml.org/openml"}
# The files that are copied from a cache: never a pickle, which could run code.
TEXTS = ("task.xml", "datasplits.arff", "description.xml", "features.xml", "qualities.xml")


@dataclass(frozen=True, slots=True)
class OpenMLHome:
    """The root folder and the server in the client's configuration."""

    root: Path
    server: str = SERVER

    @property
    def host(self) -> str:
        return urlparse(self.server).netloc

    def folder(self, root: Path | None = None) -> Path:
        """The folder of the configured server in the client's cache, or in another cache at `root`."""
        return (root or self.root).joinpath(*reversed(self.host.split(".")))


def openml_home() -> OpenMLHome:
    """From OPENML_CACHE_DIR, else the client's configuration file, else its default."""
    settings = _settings()
    given = os.environ.get("OPENML_CACHE_DIR") or settings.get("cachedir")
    root = Path(given) if given else _default_root()
    return OpenMLHome(root.expanduser().resolve(), settings.get("server", SERVER))


def _settings() -> dict[str, str]:
    linux = sys.platform.startswith("linux")
    home = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config", "openml") if linux else Path("~/.openml")
    path = home.expanduser() / "config"
    parser = configparser.RawConfigParser()
    try:
        parser.read_string("[all]\n" + path.read_text(encoding="utf-8"), str(path))
    except OSError:
        return {}
    except (configparser.Error, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"the OpenML client's configuration {path} can't be read: {reason}") from None
    return dict(parser.items("all"))


def _default_root() -> Path:
    if not sys.platform.startswith("linux"):
        return Path("~/.openml")
    given = os.environ.get("XDG_CACHE_HOME")
    if given is None:
        return Path("~/.cache/openml")
    # Older clients created their `org` folder here, and newer clients still use it.
    old = (Path(given) / "org" / "openml").exists() and not (Path(given) / "openml").exists()
    return Path(given) if old else Path(given) / "openml"


@dataclass(frozen=True, slots=True)
class Cached:
    """The files of a task or data set in a cache, and the names of the missing ones."""

    files: tuple[Path, ...]
    missing: tuple[str, ...]


def look_up(home: OpenMLHome, origin: Origin) -> Cached:
    """The files in the cache; a damaged file counts as missing."""
    files: list[Path] = []
    missing: list[str] = []
    data_id: str | None = origin.key
    if origin.kind == "openml":
        folder = home.folder() / "tasks" / origin.key
        description = _xml(folder / "task.xml")
        data_id = None
        if description is None:
            missing.append(f"tasks/{origin.key}/task.xml")
        else:
            files.append(folder / "task.xml")
            data_id = description.findtext(".//oml:data_set_id", namespaces=XML_NAMES)
        if (folder / "datasplits.arff").is_file():
            files.append(folder / "datasplits.arff")
        else:
            missing.append(f"tasks/{origin.key}/datasplits.arff")
    if data_id is not None:
        folder = home.folder() / "datasets" / data_id
        for name in ("description.xml", "features.xml"):
            if _xml(folder / name) is None:
                missing.append(f"datasets/{data_id}/{name}")
            else:
                files.append(folder / name)
        data = data_file(folder, data_id)
        if data is None:
            missing.append(f"datasets/{data_id}/dataset.arff or dataset_{data_id}.pq")
        else:
            files.append(data)
    return Cached(tuple(files), tuple(missing))


def data_file(folder: Path, data_id: str) -> Path | None:
    """The file with the table of the data set, chosen as by the client: Parquet before ARFF."""
    names = (f"dataset_{data_id}.pq", "dataset.pq", "dataset.arff")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def bring(home: OpenMLHome, scratch: Path, files: tuple[Path, ...]) -> None:
    """Copies these files of the cache to `scratch`, because the client deletes and rewrites files.

    Tables may be large: they are linked, not copied. The client only reads them.
    """
    for file in files:
        target = home.folder(scratch) / file.relative_to(home.folder())
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        if file.name in TEXTS:
            shutil.copyfile(file, target)
        else:
            target.symlink_to(file)


def give_back(home: OpenMLHome, scratch: Path) -> None:
    """Adds the files that the client downloaded into `scratch` to the cache; existing files stay."""
    for file in _downloaded(home.folder(scratch)):
        target = home.folder() / file.relative_to(home.folder(scratch))
        if target.exists():
            continue
        half = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, half)
            half.replace(target)
        except OSError:  # a read-only cache or a full disk: the store has the data in any case
            half.unlink(missing_ok=True)
            return


def _downloaded(folder: Path) -> Iterator[Path]:
    for file in folder.glob("*/*/*"):
        if (file.name in TEXTS or file.suffix in {".arff", ".pq"}) and not file.is_symlink():
            yield file


def _xml(path: Path) -> ElementTree.Element | None:
    try:
        return ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return None


# --- PMLB, with the file names of its package: `adult/adult.tsv.gz` --------------------------------


PMLB_ENVIRONMENT = "CFO_BENCH_PMLB"


def pmlb_folder() -> Path:
    """$CFO_BENCH_PMLB, such as the `datasets` of a clone of PMLB; by default `pmlb` in the user's caches."""
    given = os.environ.get(PMLB_ENVIRONMENT)
    return Path(given or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "pmlb").expanduser()


def cached_pmlb(name: str) -> Path | None:
    path = pmlb_folder().resolve() / name / f"{name}.tsv.gz"
    return path if path.is_file() else None
