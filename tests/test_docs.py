"""The documentation is true: links lead somewhere, code runs, commands exist, the site can be built."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cfo_bench import registry
from cfo_bench.cli.main import cli
from scripts.docs import cfo_figure, command_line, python_api, trace_keys
from tests.helpers import pages
from tests.helpers.program import ROOT, clean_environment

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
# Their Python blocks are run by a test of their own, or build on each other.
RUN_ELSEWHERE = {"docs/python.md", "docs/extending.md", "README.md"}
# What `make docs` writes from the code.
GENERATED = {"command-line", "suite-keys", "trace-keys", "methods", "learners", "python-api"}


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_leads_to_a_file_and_a_heading(name: str) -> None:
    for link in pages.links(TEXTS[name]):
        target, _, anchor = link.partition("#")
        path = (ROOT / name).parent / target if target else ROOT / name
        if path.parent.name == "reference":
            assert path.stem in GENERATED, link
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


# --- the reference, which is made from the code -----------------------------------------------


def test_every_command_and_option_is_on_the_page_of_the_command_line() -> None:
    page = command_line.page()

    for name, command in cli.commands.items():
        assert f"## cfo-bench {name}\n" in page
        options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
        assert [one.opts[-1] for one in options if one.opts[-1] not in page] == []


PUBLIC = python_api.public()


@pytest.mark.parametrize("name", [name for name, one in PUBLIC.items() if inspect.isfunction(one)])
def test_every_parameter_of_a_public_function_is_explained(name: str) -> None:
    prose, described = registry.split_docstring(PUBLIC[name].__doc__)

    assert prose
    assert set(described) == {*inspect.signature(PUBLIC[name]).parameters, "returns"}


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
    assert {path.stem for path in (site / "reference").glob("*.html")} == GENERATED


def test_no_page_of_the_site_loads_anything_from_another_host(site: Path) -> None:
    loaded = re.compile(r"""(?:src=|<link[^>]+href=|url\(|@import )["']?((?:https?:)?//[^"')\s>]+)""")
    files = [*site.rglob("*.html"), *site.rglob("*.css"), *site.rglob("*.svg")]

    found = {link for path in files for link in loaded.findall(path.read_text(encoding="utf-8"))}

    assert len(files) > 30
    assert found == set()


def test_the_menu_has_the_pages_that_exist_and_no_others() -> None:
    pytest.importorskip("mkdocs")
    from scripts.docs.hooks import menu

    entries = [{"Start": "index.md"}, {"Soon": [{"Later": "later.md"}]}, {"Keys": "reference/methods.md"}]

    assert menu(entries, {"index.md", "new.md"}) == [
        {"Start": "index.md"},
        {"Keys": "reference/methods.md"},
        {"More": ["new.md"]},
    ]
