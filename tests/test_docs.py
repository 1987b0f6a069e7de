"""The documentation is true: links lead somewhere, code runs, commands exist, the site can be built."""

from __future__ import annotations

import doctest
import html
import importlib
import inspect
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
import griffe
import pytest

import cfo_bench
from cfo_bench import errors, plugins, testing
from cfo_bench.cli.main import cli
from scripts.docs import cfo_figure, trace_keys
from tests.helpers import pages
from tests.helpers.browser import Browser, running_driver
from tests.helpers.program import ROOT, clean_environment
from tests.test_architecture import COMMAND_LINE, MAY_IMPORT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/reference").glob("*.md")])
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
# Their Python blocks are run by a test of their own, or build on each other.
RUN_ELSEWHERE = {"docs/python.md", "docs/extending.md", "docs/trackers.md"}
# The pages of the reference that scripts/docs/hooks.py writes at each build.
GENERATED = {"suite-keys", "trace-keys", "methods", "learners"}


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_leads_to_a_file_and_a_heading(name: str) -> None:
    for link in pages.links(TEXTS[name]):
        target, _, anchor = link.partition("#")
        path = (ROOT / name).parent / target if target else ROOT / name
        if path.parent.name == "reference" and path.stem in GENERATED:
            continue
        assert path.is_file(), link
        if anchor:
            assert anchor in pages.anchors(path.read_text(encoding="utf-8")), link


def test_every_script_that_a_page_or_a_suite_names_is_there() -> None:
    named = {
        (name, script)
        for name, text in {
            **TEXTS,
            **{path.name: path.read_text() for path in ROOT.glob("configs/*.yaml")},
        }.items()
        for script in re.findall(r"\b(?:benchmarks|scripts)/[\w/]+\.(?:py|sh)\b", text)
    }

    assert len(named) > 10
    assert [(name, script) for name, script in sorted(named) if not (ROOT / script).is_file()] == []


@pytest.mark.parametrize("name", [name for name in TEXTS if pages.commands(TEXTS[name])])
def test_every_command_is_one_that_the_program_takes(name: str) -> None:
    for command in pages.commands(TEXTS[name]):
        found: click.Command = cli
        context = click.Context(cli)
        rest = command
        while isinstance(found, click.Group):
            word, below, rest = found.resolve_command(context, rest)
            assert below is not None and word is not None
            found, context = below, click.Context(below, info_name=word, parent=context)
        if "..." not in rest and "…" not in rest:
            found.make_context(found.name, rest)


def python_blocks(text: str) -> list[str]:
    """The Python of a page that is not a file of a plug-in."""
    return pages.blocks(
        re.sub(r"<!-- file: \S+ -->\n```python\n.*?^```$", "", text, flags=re.M | re.S), "python"
    )


# Pages whose code goes on from that of another page.
FOLLOWS = {"docs/own-data.md": "docs/tutorial.md"}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in TEXTS
        if name not in RUN_ELSEWHERE and name not in FOLLOWS.values() and python_blocks(TEXTS[name])
    ],
)
def test_the_python_of_a_page_runs_as_one_script(name: str, tmp_path: Path) -> None:
    if "optuna" in name:
        pytest.importorskip("optuna")
    names = [FOLLOWS[name], name] if name in FOLLOWS else [name]
    script = tmp_path / "page.py"
    script.write_text(
        "\n".join(block for one in names for block in python_blocks(TEXTS[one])), encoding="utf-8"
    )

    answer = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=clean_environment(), capture_output=True, text=True
    )

    assert answer.returncode == 0, answer.stderr


@pytest.mark.slow  # tests/test_extending.py puts methods of a page through the contract, too
def test_the_method_of_the_how_to_passes_its_contract(tmp_path: Path) -> None:
    files = re.findall(
        r"<!-- file: (\S+) -->\n```python\n(.*?)^```$", TEXTS["docs/own-method.md"], re.M | re.S
    )
    for file, source in files:
        (tmp_path / file).write_text(source, encoding="utf-8")

    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"],
        cwd=tmp_path, env=clean_environment(), capture_output=True, text=True,
    )  # fmt: skip

    assert answer.returncode == 0, answer.stdout
    assert len(files) == 2


@pytest.mark.parametrize("name", [name for name in TEXTS if pages.blocks(TEXTS[name], "pycon")])
def test_the_examples_of_a_page_run(name: str) -> None:
    for example in pages.blocks(TEXTS[name], "pycon"):
        if "optuna" in example:
            pytest.importorskip("optuna").logging.set_verbosity(30)
        test = doctest.DocTestParser().get_doctest(example, {}, name, None, 0)
        outcome = doctest.DocTestRunner().run(test)
        assert outcome.attempted >= 4 and outcome.failed == 0


def test_the_rooms_of_the_contributors_page_are_those_of_the_architecture() -> None:
    rows = re.findall(r"^\| `(\w+)/` \|.*\| (.*?) ?\|$", TEXTS["CONTRIBUTING.md"], re.MULTILINE)
    rooms = {room: set(re.findall(r"`(\w+)/`", imported)) for room, imported in rows}

    for name in COMMAND_LINE:
        rooms.pop(name)
    assert rooms == {room: set(imported.split()) for room, imported in MAY_IMPORT.items()}


# --- the reference, which is made from the code -----------------------------------------------


API_PAGE = TEXTS["docs/reference/python-api.md"]
API_NAMES = re.findall(r"^::: (\S+)$", API_PAGE, re.MULTILINE)


def documented(path: str) -> Any:
    """The object that an entry of the page of the Python API names."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_the_page_of_the_python_api_has_every_public_name_once() -> None:
    assert len(API_NAMES) == len(set(API_NAMES))
    assert {name for name in API_NAMES if re.fullmatch(r"cfo_bench\.\w+", name)} == {
        f"cfo_bench.{name}" for name in cfo_bench.__all__
    }
    assert {name for name in API_NAMES if name.startswith("cfo_bench.testing.")} == {
        f"cfo_bench.testing.{name}" for name in testing.__all__
    }
    assert {name for name in API_NAMES if name.startswith("cfo_bench.errors.")} == {
        f"cfo_bench.errors.{name}"
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.CfoBenchError)
    }
    assert "cfo_bench.optuna.CFOSampler" in API_NAMES


def test_the_page_of_the_python_api_has_every_name_for_plug_ins() -> None:
    """Names that are public elsewhere too have their entry there, and are listed."""
    described = {name.rpartition(".")[2] for name in API_NAMES if name.startswith("cfo_bench.plugins.")}
    listed = re.search(r"^`from cfo_bench.plugins import …`.*$", API_PAGE, re.MULTILINE)
    assert listed is not None
    described_above = set(re.findall(r"`(\w+)`", listed[0]))
    entries_above = {name.rpartition(".")[2] for name in API_NAMES if ".plugins." not in name}

    assert described | described_above == set(plugins.__all__)
    assert described_above <= entries_above
    assert not described & described_above


@pytest.mark.parametrize("name", [name for name in API_NAMES if inspect.isclass(documented(name))])
def test_every_public_class_has_a_docstring(name: str) -> None:
    written = vars(documented(name)).get("__doc__") or ""

    assert written and not written.startswith(f"{name.rpartition('.')[2]}("), "none, or made by dataclass"


@pytest.mark.parametrize("name", [name for name in API_NAMES if inspect.isfunction(documented(name))])
def test_every_parameter_of_a_public_function_is_explained(name: str) -> None:
    function = documented(name)
    sections = {
        section.kind.value: section
        for section in griffe.Docstring(inspect.getdoc(function) or "").parse("numpy")
    }
    parameters = [parameter.name.lstrip("*") for parameter in sections["parameters"].value]

    assert sections["text"].value
    assert parameters == list(inspect.signature(function).parameters)
    assert ("returns" in sections) == (inspect.signature(function).return_annotation not in ("None", None))


def test_every_key_of_a_trace_is_explained() -> None:
    rows = re.findall(r"^\| `(\S+)` \| (.*?) \| (.*) \|$", trace_keys.page(), re.MULTILINE)

    assert len(rows) > 80
    assert [key for key, _, words in rows if not words and not key.endswith(("kind", "schema"))] == []


def test_the_picture_of_cfo_shows_what_the_method_does_now() -> None:
    """If this fails because CFO has changed: python -m scripts.docs.cfo_figure."""
    assert cfo_figure.FILE.read_text(encoding="utf-8") == cfo_figure.draw()


# --- the site ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    answer = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, env={**clean_environment(), "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    # mkdocs.yml is strict: a link to no page or no heading, or a page that no menu has, is an error.
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return folder


def test_the_site_is_built_without_a_warning_and_has_its_reference(site: Path) -> None:
    built = {path.stem for path in (site / "reference").glob("*.html")}

    assert built == GENERATED | {"command-line", "python-api"}


def test_the_site_has_every_command_and_option(site: Path) -> None:
    page = html.unescape((site / "reference/command-line.html").read_text(encoding="utf-8"))

    for name, command in cli.commands.items():
        assert f'id="cfo-bench-{name}"' in page
        options = [
            option for option in command.params if isinstance(option, click.Option) and not option.hidden
        ]
        assert [option.opts[-1] for option in options if option.opts[-1] not in page] == []


def test_the_site_has_every_public_name(site: Path) -> None:
    page = (site / "reference/python-api.html").read_text(encoding="utf-8")

    assert [name for name in API_NAMES if f'id="{name}"' not in page] == []


def test_no_page_of_the_site_loads_anything_from_another_host(site: Path) -> None:
    loaded = re.compile(r"""(?:src=|<link[^>]+href=|url\(|@import )["']?((?:https?:)?//[^"')\s>]+)""")
    files = [*site.rglob("*.html"), *site.rglob("*.css"), *site.rglob("*.svg")]

    found = {link for path in files for link in loaded.findall(path.read_text(encoding="utf-8"))}

    assert len(files) > 30
    assert found == set()


@contextmanager
def address_of(site: Path, way: str) -> Iterator[str]:
    """Of the first page, opened from the disk or served."""
    if way == "disk":
        yield (site / "index.html").as_uri()
        return
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/index.html"
        finally:
            server.shutdown()


@pytest.mark.parametrize("way", ["disk", "server"])
def test_the_search_of_the_site_finds_a_page(site: Path, tmp_path: Path, way: str) -> None:
    with running_driver() as driver, address_of(site, way) as address:
        browser = Browser(driver, tmp_path / "profile", 1400, 900)
        try:
            browser.post("/url", {"url": address})
            browser.press("input.md-search__input", "incumbent")
            browser.wait("return document.querySelector('.md-search-result__link') !== null")
        finally:
            browser.quit()
