"""The selections of a suite: methods and learners with their options, and tasks.

`Choice` and `Pick` are the values; `Named` and `Tasks` read them from a suite file, a command line or Python.
Options are written as `key: value` in a file, and as `key=value` on the command line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cfo_bench import values
from cfo_bench.errors import OptionError, UserError, at_place
from cfo_bench.files import yaml_file
from cfo_bench.registry import Registry, label
from cfo_bench.values import Kind, Marked, Schema, Several, Text, as_option, is_text

if TYPE_CHECKING:
    from cfo_bench.learners.estimator import Estimator

# The tags that an editor offers; a task table may have others.
_TAGS = ("paper", "binary", "multiclass", "classification", "regression", "small", "large", "bundled")
# A name such as sklearn.svm.SVC.
_DOTTED = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+"
# Keys among the options of a method that are not options: the name of the variant, or its method.
_NAME, _METHOD = "name", "method"


@dataclass(frozen=True)
class Choice:
    """A method or a learner with its options.

    Parameters
    ----------
    name : str
        A registered name, or `file.py:Class`.
    options : mapping
        The options that differ from the defaults.
    variant : str
        The name of a method in folders, tables and figures; by default its own name.
    places : mapping
        Where in a suite file each option was written; the place of the name is under `""`.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    variant: str = ""
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def place(self) -> str:
        """Where in a suite file the name was written."""
        return self.places.get("", "")

    @property
    def label(self) -> str:
        """The name in folders, tables and figures."""
        return self.variant or label(self.name)


@dataclass(frozen=True)
class Pick:
    """Some tasks, by a `word` or by `tags`."""

    word: str = ""  # a name, a pattern such as bng_*, or a tag
    tags: tuple[str, ...] = ()  # the tasks that have all of these
    place: str = field(default="", compare=False, repr=False)  # where in a file it was written


# --- methods and learners -----------------------------------------------------------------------------


class Named(Kind):
    """`cfo`, or `cfo: {delta_init: 1}`: read as a `Choice`.

    A method may be given a name: `long: {method: cfo, delta_init: 1}`, `long: cfo:delta_init=1`, `cfo:
    {name: long, delta_init: 1}`, or `cfo:delta_init=1`, which gets its name from its options.
    """

    metavar = "NAME"

    def __init__(self, name: Literal["method", "learner"]) -> None:
        self.name = name

    def read(self, key: str, marked: Marked) -> Choice:
        value, is_method = marked.value, self.name == "method"
        if isinstance(value, Choice):
            return value
        if not is_method and (estimator := _estimator_of(marked)) is not None:
            return Choice(estimator.name, estimator.options, places={"": marked.place})
        if not is_method and is_text(value) and re.fullmatch(_DOTTED, value):
            raise marked.wrong(
                "the learner", "describe an estimator and its space in a file, and name that: FILE.yaml"
            )
        if is_text(value):
            if is_method:
                return method_of_word(value, marked.place)
            return Choice(value, places={"": marked.place})
        if isinstance(value, Mapping) and len(value) == 1:
            [(name, written)] = value.items()
            if is_text(name):
                if is_method and is_text(written.value):
                    with at_place(marked.place):
                        variant = checked_name(name)
                    return replace(method_of_word(written.value, marked.place), variant=variant)
                options = Options().read(f"the options of {name}", written)
                items = written.value if isinstance(written.value, Mapping) else {}
                places = {"": marked.place, **{option: item.key_place for option, item in items.items()}}
                given = {option: as_option(value) for option, value in options.items()}
                choice = Choice(name, given, places=places)
                return self._variant(choice, items) if is_method else choice
        raise marked.wrong(
            f"one of the {key}", "write a name, or one name with its options, as in cfo: {scale: ln}"
        )

    def _variant(self, choice: Choice, written: Mapping[str, Marked]) -> Choice:
        """The choice, with its name and its method taken from its options."""
        options = dict(choice.options)
        names = {key: options.pop(key) for key in (_NAME, _METHOD) if key in options}
        for key, text in names.items():
            if not is_text(text):
                raise written[key].wrong(f"{key} of {choice.name}", "write a name")
        if len(names) == 2:
            raise written[_METHOD].wrong(
                f"{_METHOD} of {choice.name}",
                "the method already has a name before the colon: remove one of the two",
            )
        name = names.get(_METHOD, choice.name)
        variant = choice.name if _METHOD in names else names.get(_NAME, "")
        with at_place(choice.place):
            return replace(choice, name=name, options=options, variant=checked_name(variant))

    def schema(self) -> Schema:
        from cfo_bench.suite import estimator_file

        registry = self._registry()
        families = [
            {"description": row.summary, "type": "string", "pattern": f"^{family}:."}
            for family, row in sorted(registry.families.items())
        ]
        name = {"anyOf": [{"enum": sorted(registry.builtin)}, *families, Text().reference()]}
        options = Options().reference()
        return {
            "oneOf": [
                {"description": f"The name of a {self.name}, or file.py:Class.", **name},
                {
                    "description": f"One {self.name} with its options.",
                    "type": "object",
                    "minProperties": 1,
                    "maxProperties": 1,
                    "propertyNames": name,
                    "additionalProperties": {"anyOf": [options, name]}
                    if registry.kind == "method"
                    else options,
                },
                *([] if registry.kind == "method" else [estimator_file.schema()]),
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


def _estimator_of(marked: Marked) -> Estimator | None:
    """The estimator that an item of `learners` is or describes, or that is in the YAML file it names."""
    value = marked.value
    is_file = is_text(value) and Path(value).suffix in (".yaml", ".yml")
    if (is_text(value) and not is_file) or (isinstance(value, Mapping) and "estimator" not in value):
        return None
    from cfo_bench.learners.estimator import Estimator
    from cfo_bench.suite import estimator_file

    if isinstance(value, Estimator):
        return value
    if is_text(value):
        return estimator_file.read(value, Path(marked.where).parent)
    return estimator_file.estimator_of(marked) if isinstance(value, Mapping) else None


def method_of_word(word: str, place: str = "") -> Choice:
    """`cfo`, or `cfo:delta_init=1,scale=ln`: a variant that is called `cfo@delta_init=1,scale=ln`."""
    from cfo_bench.optimizers import METHODS

    name, text = METHODS.split_options(word)
    if not text:
        return Choice(name, places={"": place})
    with at_place(place):
        # A comma without a following `key=` is part of a value.
        options = parse_options(re.split(r",(?=[A-Za-z_]\w*=)", text))
    return Choice(name, options, f"{label(name)}@{text}", {"": place})


def checked_name(variant: str) -> str:
    """The name of a variant, which must not break `--option NAME.key=value`."""
    if "=" in variant:
        raise UserError(f"the name {variant!r} of a method has a '=': write a name without it")
    return variant


# --- options ------------------------------------------------------------------------------------------


class Options(Kind):
    """Names with values of any type. Null means no options."""

    name = "options"

    def read(self, key: str, marked: Marked) -> dict[str, Any]:
        if marked.value is None:
            return {}
        if not isinstance(marked.value, Mapping):
            raise marked.wrong(key, "write them as key: value")
        return {name: item.plain() for name, item in marked.value.items()}

    def schema(self) -> Schema:
        return {"type": ["object", "null"]}


def parse_options(words: Sequence[str]) -> dict[str, Any]:
    """`key=value` words. Values are as in a suite file: numbers, true, false, null, text, and 1e-3."""
    return {key: as_option(value) for key, value in parse_values(words).items()}


def parse_values(words: Sequence[str]) -> dict[str, Any]:
    """The same, but 1e-3 stays text, as in YAML."""
    options: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not (key and equals):
            raise OptionError(f"option {word!r}: write key=value")
        try:
            options[key] = yaml_file.parse(text, word).plain()
        except UserError:
            raise OptionError(
                f"option {word!r}: {text!r} is not a value; put quotes around odd text"
            ) from None
    return options


# --- tasks --------------------------------------------------------------------------------------------


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
        if not isinstance(value, str) and (number := values.whole_number(value)) is not None:
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
