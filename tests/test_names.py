"""One name means one thing: no public class, type or module of the package shares its name with another."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "cfo_bench"


def public_types(tree: ast.Module) -> Iterator[str]:
    """Classes and type aliases (`Config = dict[str, Any]`) at the top of a module."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            yield from (name for name in names if name[0].isupper() and not name.isupper())


def used_twice(named: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each name that stands in several places."""
    places = defaultdict(list)
    for name, place in named:
        places[name].append(place)
    return [f"{name}: {', '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]


def test_no_two_types_have_one_name() -> None:
    named = [
        (name, str(path.relative_to(ROOT)))
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in public_types(ast.parse(path.read_text(encoding="utf-8")))
    ]

    assert {"Trial", "CFO", "Config"} <= {name for name, _ in named}
    assert not used_twice(named), "\n".join(used_twice(named))


def test_no_two_modules_of_a_room_have_one_name() -> None:
    named = [
        (f"{path.relative_to(PACKAGE).parts[0]}: {path.stem}", str(path.relative_to(ROOT)))
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "__init__.py"
    ]

    assert {"report: build", "tasks: files"} <= {name for name, _ in named}
    assert not used_twice(named), "\n".join(used_twice(named))


def test_a_name_used_twice_is_seen() -> None:
    one = ast.parse("class Status: ...\nclass _Own: ...\nLIMIT = 1\nValue = int | str\nprint(1)")
    other = ast.parse("class Value: ...\nclass _Own: ...\nLIMIT = 2")

    named = [(name, place) for place, tree in (("a.py", one), ("b.py", other)) for name in public_types(tree)]

    assert used_twice(named) == ["Value: a.py, b.py"]
