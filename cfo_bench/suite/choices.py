"""What a suite chooses: methods and learners with their options, and tasks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cfo_bench import quantities
from cfo_bench.kinds import Kind, Schema, Several, Text, is_text
from cfo_bench.yaml_file import Marked

# The tags that an editor offers; a task table may have others.
_TAGS = ("paper", "binary", "multiclass", "classification", "regression", "small", "large", "bundled")


@dataclass(frozen=True)
class Choice:
    """A method or a learner with its options."""

    name: str  # a registered name, or file.py:Class
    options: Mapping[str, Any] = field(default_factory=dict)
    # Where in a file each option was written, and under "" where the name was.
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def place(self) -> str:
        return self.places.get("", "")


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


class Named(Kind):
    """`cfo`, or `cfo: {delta_init: 1}`: read as a `Choice`."""

    metavar = "NAME"

    def __init__(self, name: Literal["method", "learner"]) -> None:
        self.name = name

    def read(self, key: str, marked: Marked) -> Choice:
        value = marked.value
        if isinstance(value, Choice):
            return value
        if is_text(value):
            return Choice(value, places={"": marked.place})
        if isinstance(value, Mapping) and len(value) == 1:
            [(name, options)] = value.items()
            if is_text(name):
                given = Options().read(f"the options of {name}", options)
                own = options.value if isinstance(options.value, Mapping) else {}
                places = {"": marked.place, **{key: one.key_place for key, one in own.items()}}
                return Choice(name, {key: as_option(one) for key, one in given.items()}, places)
        raise marked.wrong(
            f"one of the {key}", "write a name, or one name with its options, as in cfo: {scale: ln}"
        )

    def schema(self) -> Schema:
        name = {"anyOf": [{"enum": self._known()}, Text().reference()]}
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

    def _known(self) -> list[str]:
        from cfo_bench.learners import LEARNERS
        from cfo_bench.optimizers import METHODS

        return sorted((METHODS if self.name == METHODS.kind else LEARNERS).builtin)

    def plain(self, value: Any) -> str | None:
        return value.name if isinstance(value, Choice) and not value.options else None

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


def as_option(value: Any) -> Any:
    """The value of an option: YAML takes 1e-3 for text, here it is a number."""
    is_number = isinstance(value, str) and re.fullmatch(f"[+-]?{quantities.NUMBER}", value)
    return float(value) if is_number and "e" in value.lower() else value
