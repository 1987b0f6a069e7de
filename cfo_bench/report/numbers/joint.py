"""Which methods are compared together, where not all of them were run on everything."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

_Item = TypeVar("_Item")

# Names are left out only where they share less than this part of what one of them has.
_ENOUGH = 0.5


def keep_most(having: Mapping[str, Collection[_Item]]) -> tuple[set[str], set[_Item]]:
    """The names to compare, and the items that all of them have.

    Where the names share half of the items or more, all names are kept: one that lacks an item costs that
    item, and not its place. Where they share less, those are left out without which most is shared, as long
    as that keeps more (names × items) and two names are left. Names that are as much in the way as each other
    are left out together, so that their order decides nothing. If no two names can be compared, the one with
    most items is left alone.
    """
    names = set(having)
    kept, shared = names, _shared(having, names)
    while len(names) > 2 and len(_shared(having, names)) < _ENOUGH * max(len(having[name]) for name in names):
        in_the_way = {
            name: (len(_shared(having, names - {name})), -len(having[name])) for name in sorted(names)
        }
        most = max(in_the_way.values())
        names = {name for name, own in in_the_way.items() if own != most}
        if len(names) < 2:
            break
        fewer = _shared(having, names)
        if len(names) * len(fewer) > len(kept) * len(shared):
            kept, shared = names, fewer
    if not shared and kept:
        alone = max(sorted(having), key=lambda name: len(having[name]))
        return {alone}, set(having[alone])
    return kept, shared


def _shared(having: Mapping[str, Collection[_Item]], names: Collection[str]) -> set[_Item]:
    first, *others = sorted(names) or [""]
    return set(having.get(first, ())).intersection(*(having[name] for name in others))
