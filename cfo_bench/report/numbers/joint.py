"""Which methods are compared together, where not all of them were run on everything."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

_Item = TypeVar("_Item")


def keep_most(having: Mapping[str, Collection[_Item]]) -> tuple[set[str], set[_Item]]:
    """The names to compare, and the items that all of them have: together as many as possible.

    A name with few items would cut the items of all others, so it is left out where this keeps more. Names
    are left out one at a time, each time the one without which most is kept, down to two. If even these
    share nothing, the one with most items is left alone.
    """
    names = set(having)
    kept, shared = names, _shared(having, names)
    while len(names) > 2:
        # The last parts of the key only make the choice the same each time: they decide no comparison.
        drop = min(
            names,
            key=lambda name: (
                -len(_shared(having, names - {name})),
                len(having[name]),
                sorted(map(str, having[name])),
                name,
            ),
        )
        names = names - {drop}
        fewer = _shared(having, names)
        if len(names) * len(fewer) > len(kept) * len(shared):
            kept, shared = names, fewer
    if not shared and kept:
        most = max(sorted(having), key=lambda name: len(having[name]))
        return {most}, set(having[most])
    return kept, shared


def _shared(having: Mapping[str, Collection[_Item]], names: Collection[str]) -> set[_Item]:
    first, *others = sorted(names) or [""]
    return set(having.get(first, ())).intersection(*(having[name] for name in others))
