"""What a suite chooses: methods and learners with their options, and tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cfo_bench import quantities
from cfo_bench.errors import UserError, told_at
from cfo_bench.kinds import Kind, Schema, Several, Text, is_text
from cfo_bench.registry import Registry, label
from cfo_bench.suite.key_values import as_option, parse_options, split_list
from cfo_bench.marked import Marked

# The tags that an editor offers; a task table may have others.
_TAGS = ("paper", "binary", "multiclass", "classification", "regression", "small", "large", "bundled")


@dataclass(frozen=True)
class Choice:
    """A method or a learner with its options."""

    name: str  # a registered name, or file.py:Class
    options: Mapping[str, Any] = field(default_factory=dict)  # its options, where they are not the defaults
    variant: str = ""  # of a method: what it is called in folders, tables and figures; "": by its own name
    # Where in a file each option was written, and under "" where the name was.
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def place(self) -> str:
        return self.places.get("", "")

    @property
    def label(self) -> str:
        """What it is called in folders, tables and figures."""
        return self.variant or label(self.name)


def checked_name(variant: str) -> str:
    """The name of a variant: `--option NAME.key=value` has to find it."""
    if "=" in variant:
        raise UserError(f"the name {variant!r} of a method has a '=': write a name without it")
    return variant


def method_of_word(word: str, place: str = "") -> Choice:
    """`cfo`, or `cfo:delta_init=1,scale=ln`: a variant that is called `cfo@delta_init=1,scale=ln`."""
    from cfo_bench.optimizers import METHODS

    name, options = METHODS.split_options(word)
    if not options:
        return Choice(name, places={"": place})
    with told_at(place):
        given = parse_options(split_list(options))
    return Choice(name, given, f"{label(name)}@{options}", {"": place})


@dataclass(frozen=True)
class Pick:
    """Some tasks, by a `word` or by `tags`."""

    word: str = ""  # a name, a pattern such as bng_*, or a tag
    tags: tuple[str, ...] = ()  # the tasks that have all of them
    place: str = field(default="", compare=False, repr=False)  # where in a file it was written


class Options(Kind):
    """Names with values of any type. Nothing at all is no option."""

    name = "options"

    def read(self, key: str, marked: Marked) -> dict[str, Any]:
        if marked.value is None:
            return {}
        if not isinstance(marked.value, Mapping):
            raise marked.wrong(key, "write them as key: value")
        return {name: one.plain() for name, one in marked.value.items()}

    def schema(self) -> Schema:
        return {"type": ["object", "null"]}


# The keys among a method's options that are none: the variant's name, or the method that it is one of.
_NAME, _METHOD = "name", "method"


class Named(Kind):
    """`cfo`, or `cfo: {delta_init: 1}`: read as a `Choice`.

    A method may have a name of its own: `long: {method: cfo, delta_init: 1}`, `cfo: {name: long, delta_init:
    1}`, or `cfo:delta_init=1`, which gets its name from its options.
    """

    metavar = "NAME"

    def __init__(self, name: Literal["method", "learner"]) -> None:
        self.name = name

    def read(self, key: str, marked: Marked) -> Choice:
        value = marked.value
        if isinstance(value, Choice):
            return value
        is_method = self.name == "method"
        if is_text(value):
            return (
                method_of_word(value, marked.place) if is_method else Choice(value, places={"": marked.place})
            )
        if isinstance(value, Mapping) and len(value) == 1:
            [(name, options)] = value.items()
            if is_text(name):
                given = Options().read(f"the options of {name}", options)
                own = options.value if isinstance(options.value, Mapping) else {}
                places = {"": marked.place, **{key: one.key_place for key, one in own.items()}}
                choice = Choice(name, {key: as_option(one) for key, one in given.items()}, places=places)
                return self._variant(choice, own) if is_method else choice
        raise marked.wrong(
            f"one of the {key}", "write a name, or one name with its options, as in cfo: {scale: ln}"
        )

    def _variant(self, choice: Choice, own: Mapping[str, Marked]) -> Choice:
        """The choice, its name and its method taken from among its options."""
        options = dict(choice.options)
        found = {key: options.pop(key) for key in (_NAME, _METHOD) if key in options}
        for key, text in found.items():
            if not is_text(text):
                raise own[key].wrong(f"{key} of {choice.name}", "write a name")
        if len(found) == 2:
            raise own[_METHOD].wrong(
                f"{_METHOD} of {choice.name}", "the name stands before it already: leave out one of the two"
            )
        name = found.get(_METHOD, choice.name)
        variant = choice.name if _METHOD in found else found.get(_NAME, "")
        with told_at(choice.place):
            return replace(choice, name=name, options=options, variant=checked_name(variant))

    def schema(self) -> Schema:
        registry = self._registry()
        families = [
            {"description": row.summary, "type": "string", "pattern": f"^{family}:."}
            for family, row in sorted(registry.families.items())
        ]
        name = {"anyOf": [{"enum": sorted(registry.builtin)}, *families, Text().reference()]}
        return {
            "oneOf": [
                {"description": f"The name of a {self.name}, or file.py:Class.", **name},
                {
                    "description": f"One {self.name} with its options.",
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": 1,
                    "propertyNames": name,
                    "additionalProperties": Options().reference(),
                },
            ]
        }

    def _registry(self) -> Registry:
        from cfo_bench.learners import LEARNERS
        from cfo_bench.optimizers import METHODS

        return METHODS if self.name == METHODS.kind else LEARNERS

    def plain(self, value: Any) -> str | None:
        is_plain = isinstance(value, Choice) and not value.options and not value.variant
        return value.name if is_plain else None

    def parts(self) -> Sequence[Kind]:
        return (Text(), Options())


class Tasks(Kind):
    """`iris`, `bng_*`, `paper`, `openml:3`, or `tags: [paper, binary]`: read as a `Pick`."""

    name = "task"
    metavar = "NAME"
    _tags = Several(Text())

    def read(self, key: str, marked: Marked) -> Pick:
        value = marked.value
        if isinstance(value, Pick):
            return value
        if isinstance(value, Mapping):
            if list(value) != ["tags"]:
                raise marked.wrong(
                    f"one of the {key}", "write a name, or tags: [paper, binary] for all that have both"
                )
            return Pick(tags=self._tags.read("tags", value["tags"]), place=marked.place)
        if not isinstance(value, str) and (number := quantities.whole_number(value)) is not None:
            value = str(number)
        if not is_text(value):
            raise marked.wrong(
                f"one of the {key}", "write the name of a task, a pattern such as bng_*, or a tag"
            )
        return Pick(value, place=marked.place)

    def schema(self) -> Schema:
        return {
            "oneOf": [
                {
                    "description": "A name, a pattern, a tag, or openml:3, openml-suite:271, pmlb:adult.",
                    "anyOf": [{"enum": list(_TAGS)}, Text().reference()],
                },
                {"type": "integer"},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["tags"],
                    "properties": {"tags": {"description": "All of these.", **self._tags.schema()}},
                },
            ]
        }

    def parts(self) -> Sequence[Kind]:
        return (self._tags,)
