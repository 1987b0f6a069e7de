"""The model of a suite: everything that a file, a command line or a Python program can ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from cfo_bench import values
from cfo_bench.errors import OptionError, UnknownNameError, UserError, told_at
from cfo_bench.files import yaml_file
from cfo_bench.records import Problem
from cfo_bench.registry import Registry, label
from cfo_bench.settings import DEFAULT_LEARNER, DEFAULT_SEED, Settings, setting, settings_of
from cfo_bench.values import (
    Count,
    FilePath,
    Flag,
    Kind,
    Marked,
    OneOf,
    Parsed,
    Schema,
    Several,
    Text,
    UpTo,
    is_text,
    mark,
)

# --- key values ------------------------------------------------------------------------------------
# Options in words: from `key=value`, as after `--option`, to values.


def parse_options(words: Sequence[str]) -> dict[str, Any]:
    """Values as in a suite file: numbers, true and false, null, text; 1e-3 is a number too."""
    return {key: as_option(value) for key, value in parse_values(words).items()}


def parse_values(words: Sequence[str]) -> dict[str, Any]:
    """The same, but 1e-3 stays the text that it is in YAML."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not (key and equals):
            raise OptionError(f"option {word!r}: write key=value")
        try:
            found[key] = yaml_file.parse(text, word).plain()
        except UserError:
            raise OptionError(
                f"option {word!r}: {text!r} is not a value; put quotes around odd text"
            ) from None
    return found


def split_list(text: str) -> list[str]:
    """`delta_init=1,scale=ln` as its words. A comma that no `key=` follows is part of a value."""
    return re.split(r",(?=[A-Za-z_]\w*=)", text)


def as_option(value: Any) -> Any:
    """The value of an option: YAML takes 1e-3 for text, here it is a number."""
    is_number = isinstance(value, str) and re.fullmatch(f"[+-]?{values.NUMBER}", value)
    return float(value) if is_number and "e" in value.lower() else value


# --- folds -----------------------------------------------------------------------------------------
# Which folds to run: `all`, `0`, `0-4`, `0,3`, or a list of numbers.


_SOME = "[0-9]{1,18}(-[0-9]{1,18})?"
# More make no sense, and a list of all runs would not fit into memory.
MOST_FOLDS = 10_000
PATTERN = f"^ *(all|{_SOME}( *, *{_SOME})*) *$"


class Folds(Parsed):
    """Text such as `0-4`, or a list of numbers, which becomes such text."""

    metavar = "LIST"
    rule = "write all, 0, 0-4 or 0,3"
    _numbers = Several(UpTo("fold", 10**9))

    def parse(self, value: object) -> str | None:
        return value if isinstance(value, str) and re.fullmatch(PATTERN, value) else None

    def read(self, key: str, marked: Marked) -> str:
        if not isinstance(marked.value, str):
            return ",".join(map(str, self._numbers.read(key, marked)))
        found = self.parse(marked.value)
        if found is None:
            raise marked.wrong(key, f"{self.rule}, or a list of numbers")
        return found

    def schema(self) -> Schema:
        return {"oneOf": [{"type": "string", "pattern": PATTERN}, *self._numbers.schema()["oneOf"]]}

    def parts(self) -> Sequence[Kind]:
        return (self._numbers,)


def parse_folds(text: str, n_folds: int, key: str = "--folds") -> list[int]:
    """The numbers of the folds, each below `n_folds`; `key` is what an error calls them."""
    if n_folds > MOST_FOLDS:
        raise UserError(f"{n_folds} folds: give a number of folds from 2 to {MOST_FOLDS}")
    if text.strip() == "all":
        return list(range(n_folds))
    if not re.fullmatch(PATTERN, text):
        raise UserError(f"{key} {text!r}: {Folds.rule}")
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not low <= high < n_folds:
            raise UserError(
                f"{key} {text!r}: with {n_folds} folds, give numbers from 0 to {n_folds - 1}, the lower first"
            )
        found.update(range(low, high + 1))
    return sorted(found)


# --- choices ---------------------------------------------------------------------------------------
# What a suite chooses: methods and learners with their options, and tasks.


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


# --- cluster ---------------------------------------------------------------------------------------
# Where the Dask engine finds its workers.


BATCH_SYSTEMS = ("slurm", "pbs", "sge", "lsf", "htcondor", "oar", "moab")
CLUSTER_KINDS = ("local", "join", *BATCH_SYSTEMS)


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster to start or to join.

    A batch system is started through the class of dask-jobqueue that is named like it, with the `options`.
    """

    kind: str = setting(
        "local",
        OneOf(CLUSTER_KINDS),
        "local: started on this machine; join: the one at `scheduler`; or the batch system that starts "
        "workers.",
    )
    scheduler: str | None = setting(
        None, Text(), "Address such as tcp://host:8786, or the path of a scheduler file."
    )
    workers: int | None = setting(None, Count(), "Workers to start, or to wait for.")
    options: Mapping[str, Any] = setting(
        dict, Options(), "Options of the batch system: cores, memory, walltime, queue, account."
    )


class ClusterKeys(Kind):
    """A `Cluster`, written as key: value."""

    def read(self, key: str, marked: Marked) -> Cluster:
        known = {one.key: one for one in settings_of(Cluster)}
        written = marked.value
        if isinstance(written, Cluster):
            values = {one.key: (getattr(written, one.name), one.default) for one in known.values()}
            written = {
                name: mark(value) for name, (value, default) in values.items() if value not in (None, default)
            }
        if not isinstance(written, Mapping):
            raise marked.wrong(key, f"write it as key: value, with {', '.join(known)}")
        given: dict[str, Any] = {}
        for name, one in written.items():
            with told_at(one.key_place):
                if name not in known:
                    raise UnknownNameError("key", f"{key}.{name}", [f"{key}.{each}" for each in known])
            given[name] = known[name].kind.read(f"{key}.{name}", one)
        if "scheduler" in given and given.setdefault("kind", "join") != "join":
            raise marked.wrong(f"{key}.kind", "a scheduler is for kind: join; leave one of the two out")
        if given.get("kind") == "join" and "scheduler" not in given:
            raise marked.wrong(key, "kind: join needs a scheduler: its address, or the path of its file")
        return Cluster(**given)

    def schema(self) -> Schema:
        is_join = {"properties": {"kind": {"const": "join"}}}
        has_scheduler = {"required": ["scheduler"]}
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {one.key: one.schema() for one in settings_of(Cluster)},
            "allOf": [
                {"if": {**is_join, "required": ["kind"]}, "then": has_scheduler},
                {"if": has_scheduler, "then": is_join},
            ],
        }

    def parts(self) -> Sequence[Kind]:
        return [one.kind for one in settings_of(Cluster)]


# --- model -----------------------------------------------------------------------------------------


# The fields that say what a file of one's own is, besides its path.
OF_OWN_DATA = ("data_file", "target", "problem", "drop", "drop_missing_target")
_NO_CLUSTER = Cluster()  # the one that nobody asked for


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What is combined: every (learner, task, method, fold, seed) of it becomes one run."""

    # fmt: off
    learners: tuple[Choice, ...] = setting(
        (Choice(DEFAULT_LEARNER),), Several(Named("learner")),
        "A model to tune (see `cfo-bench learners`); can be repeated.", flag="--learner",
        in_file="Models to tune: one or several of `cfo-bench learners`.",
    )
    tasks: tuple[Pick, ...] = setting(
        (), Several(Tasks()),
        "A task, a pattern or a tag (see `cfo-bench tasks`); can be repeated.", flag="--task",
        in_file="Data to train on: names of tasks, patterns such as `bng_*`, tags such as paper, or "
        "`{tags: [paper, binary]}` for tasks that have all of them.",
    )
    exclude: tuple[Pick, ...] = setting(
        (), Several(Tasks()), "Tasks to leave out, in the same forms.", flag=None
    )
    methods: tuple[Choice, ...] = setting(
        (), Several(Named("method")),
        "A method (see `cfo-bench methods`), file.py:Class, or with options cfo:delta_init=1,scale=ln; can "
        "be repeated.",
        flag="--method",
        in_file="Methods to compare: one or several of `cfo-bench methods`.",
    )
    folds: str = setting(
        "all", Folds(), "Folds to run: all, 0, 0-4 or 0,3.",
        in_file="Folds to run: all, 0, 0-4 or 0,3, or a list of numbers.",
    )
    seeds: tuple[int, ...] = setting(
        (DEFAULT_SEED,), Several(UpTo("seed", 2**32 - 1)),
        "Seed of folds, methods and models; can be repeated.", flag="--seed",
        in_file="Seeds of folds, methods and models.",
    )
    # fmt: on


@dataclass(frozen=True, kw_only=True)
class Suite(Settings, Grid):
    """What to run, how and where.

    From Python, values may be written as in a file:

    >>> suite = Suite(tasks=["iris", "bng_*"], methods=["cfo", Choice("rs")], budget_seconds="1h30m")
    >>> suite.tasks[1].word, suite.methods[1].name, suite.budget_seconds
    ('bng_*', 'rs', 5400.0)
    >>> Suite(threads=0)
    Traceback (most recent call last):
    cfo_bench.errors.UserError: threads is 0: write a whole number from 1 on
    """

    # fmt: off
    engine: str = setting(
        "", Text(), "Run on this machine (local), or on a Dask cluster (dask).", by_default="local",
        in_file="Run on this machine (local), on a Dask cluster (dask), or by the engine of another package; "
        "dask where a cluster is given.",
    )
    engine_options: Mapping[str, Any] = setting(
        dict, Options(), "Options of an engine that another package brings.", flag=None
    )
    jobs: int = setting(1, Count(), "Runs at the same time on this machine.", flag="-j --jobs")
    cluster: Cluster = setting(
        _NO_CLUSTER, ClusterKeys(),
        "Where the Dask engine finds its workers: kind, scheduler, workers, options (see docs/cluster.md).",
        flag=None,
    )
    results: Path = setting(
        Path("results"), FilePath("DIR"), "Folder of the traces.",
        in_file="Folder of the traces, relative to this file; without the key, relative to where the command "
        "is run.",
    )
    data_file: Path | None = setting(
        None, FilePath("FILE"), "Your own .csv, .parquet or .arff file as a task.", key="data",
        in_file="A .csv, .parquet or .arff file of your own as a task, relative to this file.",
    )
    target: str | None = setting(
        None, Text(), "The column of --data to predict.", in_file="The column of `data` to predict.",
    )
    problem: str | None = setting(
        None, OneOf(tuple(one.value for one in Problem), "KIND"),
        "What --target is, where its values don't tell: binary, multiclass or regression.",
        in_file="What the target is, where its values don't tell: binary, multiclass or regression.",
    )
    drop: tuple[str, ...] = setting(
        (), Several(Text()), "A column of --data to leave out; give several for all of them.",
        in_file="Columns of `data` to leave out.",
    )
    drop_missing_target: bool = setting(
        False, Flag(), "Leave out rows of --data whose target is missing.",
        in_file="Leave out rows of `data` whose target is missing.",
    )
    data_dir: Path | None = setting(
        None, FilePath("DIR"), "A folder of data sets with an index.csv, for --task.",
        by_default="$CFO_BENCH_DATA",
        in_file="A folder of data sets with an index.csv, relative to this file.",
    )
    task_tables: tuple[Path, ...] = setting(
        (), Several(FilePath("FILE")), "A YAML table of tasks of your own.", flag="--tasks",
        by_default="$CFO_BENCH_TASKS", in_file="YAML tables of tasks of your own, relative to this file.",
    )
    yahpo: Path | None = setting(
        None, FilePath("DIR"), "A copy of YAHPO Gym's data, for --task yahpo:ID.",
        by_default="$CFO_BENCH_YAHPO, or what YAHPO's own settings say",
        in_file="A copy of YAHPO Gym's data, relative to this file.",
    )
    surrogate: Path | None = setting(
        None, FilePath("FILE"), "Use surrogates in place of learners and data (see docs/simulation.md).",
        in_file="A file of `cfo-bench surrogate fit`, relative to this file: its surrogates replace "
        "learners and data.",
    )
    # fmt: on
    # Where in a file a field was given its value.
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        is_cluster_given = self.cluster is not _NO_CLUSTER
        for one in settings_of(type(self)):
            value = getattr(self, one.name)
            if value is not one.default:
                object.__setattr__(self, one.name, one.kind.read(one.name, mark(value)))
        if not self.engine:
            object.__setattr__(self, "engine", "dask" if is_cluster_given else "local")


DEFAULTS = Suite()
