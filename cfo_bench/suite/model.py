"""The model of a suite: everything that a file, a command line or a Python program can ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfo_bench.errors import UnknownNameError, UserError, at_place
from cfo_bench.records import Problem
from cfo_bench.settings import DEFAULT_LEARNER, DEFAULT_SEED, Settings, setting, settings_of
from cfo_bench.suite.choices import Choice, Named, Options, Pick, Tasks
from cfo_bench.values import (
    MAX_SEED,
    Count,
    FilePath,
    Flag,
    Kind,
    Marked,
    OneOf,
    Parsed,
    Schema,
    Several,
    SplitBy,
    Text,
    UpTo,
    mark,
)

# --- folds -------------------------------------------------------------------------------------------


_RANGE = "[0-9]{1,18}(-[0-9]{1,18})?"
_FOLDS = f"^ *(all|{_RANGE}( *, *{_RANGE})*) *$"
# With more folds, the list of runs would not fit into memory.
MAX_FOLDS = 10_000


class Folds(Parsed):
    """Text such as `0-4`, or a list of numbers, which becomes such text."""

    metavar = "LIST"
    rule = "write all, 0, 0-4 or 0,3"
    _numbers = Several(UpTo("fold", 10**9))

    def parse(self, value: object) -> str | None:
        return value if isinstance(value, str) and re.fullmatch(_FOLDS, value) else None

    def read(self, key: str, marked: Marked) -> str:
        if not isinstance(marked.value, str):
            return ",".join(map(str, self._numbers.read(key, marked)))
        folds = self.parse(marked.value)
        if folds is None:
            raise marked.wrong(key, f"{self.rule}, or a list of numbers")
        return folds

    def schema(self) -> Schema:
        return {"oneOf": [{"type": "string", "pattern": _FOLDS}, *self._numbers.schema()["oneOf"]]}

    def parts(self) -> Sequence[Kind]:
        return (self._numbers,)


def parse_folds(text: str, n_folds: int, key: str = "--folds") -> list[int]:
    """The numbers of the folds, each below `n_folds`. `key` is their name in an error."""
    if n_folds > MAX_FOLDS:
        raise UserError(f"{n_folds} folds: give a number of folds from 2 to {MAX_FOLDS}")
    if text.strip() == "all":
        return list(range(n_folds))
    if not re.fullmatch(_FOLDS, text):
        raise UserError(f"{key} {text!r}: {Folds.rule}")
    folds: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not low <= high < n_folds:
            raise UserError(
                f"{key} {text!r}: with {n_folds} folds, give numbers from 0 to {n_folds - 1}, the lower first"
            )
        folds.update(range(low, high + 1))
    return sorted(folds)


# --- cluster -----------------------------------------------------------------------------------------


# The batch systems that start Dask workers, each with its class of dask-jobqueue.
BATCH_SYSTEMS = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
    "htcondor": "HTCondorCluster",
    "oar": "OARCluster",
    "moab": "MoabCluster",
}
CLUSTER_KINDS = ("local", "join", *BATCH_SYSTEMS)


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster to start or to join.

    A batch system is started through its class of dask-jobqueue, with the `options`.
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
        known = {declared.key: declared for declared in settings_of(Cluster)}
        written = marked.value
        if isinstance(written, Cluster):
            written = {
                name: mark(value)
                for name, declared in known.items()
                if (value := getattr(written, declared.name)) not in (None, declared.default)
            }
        if not isinstance(written, Mapping):
            raise marked.wrong(key, f"write it as key: value, with {', '.join(known)}")
        given: dict[str, Any] = {}
        for name, item in written.items():
            with at_place(item.key_place):
                if name not in known:
                    raise UnknownNameError("key", f"{key}.{name}", [f"{key}.{other}" for other in known])
            given[name] = known[name].kind.read(f"{key}.{name}", item)
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
            "properties": {declared.key: declared.schema() for declared in settings_of(Cluster)},
            "allOf": [
                {"if": {**is_join, "required": ["kind"]}, "then": has_scheduler},
                {"if": has_scheduler, "then": is_join},
            ],
        }

    def parts(self) -> Sequence[Kind]:
        return [declared.kind for declared in settings_of(Cluster)]


# --- the suite ---------------------------------------------------------------------------------------


# The fields that describe a user's data file.
OF_OWN_DATA = ("data_file", "target", "problem", "drop", "drop_missing_target", "split", "weight")
_NO_CLUSTER = Cluster()  # the default, by identity: `cluster: {}` asks for the Dask engine


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The combinations of a suite: every (learner, task, method, fold, seed) becomes one run."""

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
        (DEFAULT_SEED,), Several(UpTo("seed", MAX_SEED)),
        "Seed of folds, methods and models; can be repeated.", flag="--seed",
        in_file="Seeds of folds, methods and models.",
    )
    # fmt: on


@dataclass(frozen=True, kw_only=True)
class Suite(Settings, Grid):
    """What to run, how and where.

    Each setting is a keyword argument; `docs/suites.md` explains them. A setting is named as in a suite file,
    except for `budget_seconds` (`budget`), `trial_timeout_seconds` (`trial_timeout`),
    `prepare_timeout_seconds` (`prepare_timeout`), `memory_mb` (`memory`) and `data_file` (`data`). Values may
    be written as in a file, such as `"1h30m"`, and a single value may stand for a list of one.

    Raises
    ------
    UserError
        If a value breaks the rule of its setting.

    Examples
    --------

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
        "dask if a cluster is given.",
    )
    engine_options: Mapping[str, Any] = setting(
        dict, Options(), "Options of an engine that another package provides.", flag=None
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
        None, OneOf(tuple(problem.value for problem in Problem), "KIND"),
        "The problem type, if the target's values do not determine it: binary, multiclass or regression.",
    )
    drop: tuple[str, ...] = setting(
        (), Several(Text()), "A column of --data to leave out; can be repeated.",
        in_file="Columns of `data` to leave out.",
    )
    drop_missing_target: bool = setting(
        False, Flag(), "Leave out rows of --data whose target is missing.",
        in_file="Leave out rows of `data` whose target is missing.",
    )
    split: str | None = setting(
        None, SplitBy(),
        "Make the folds of --data by a column: group:COLUMN, time:COLUMN, or column:COLUMN (your own folds).",
        by_default="at random",
        in_file="Make the folds of `data` by a column, which is then not a feature: group:COLUMN (groups "
        "stay whole), time:COLUMN (earlier rows train, later ones validate) or column:COLUMN (each value is "
        "a fold).",
    )
    weight: str | None = setting(
        None, Text(), "The column of --data with the weights of rows, in training and validation.",
        in_file="The column of `data` with the weights of rows, in training and validation; not a feature.",
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
        by_default="$CFO_BENCH_YAHPO, or the folder in YAHPO's own settings",
        in_file="A copy of YAHPO Gym's data, relative to this file.",
    )
    surrogate: Path | None = setting(
        None, FilePath("FILE"), "Use surrogates in place of learners and data (see docs/simulation.md).",
        in_file="A file of `cfo-bench surrogate fit`, relative to this file: its surrogates replace "
        "learners and data.",
    )
    # fmt: on
    # Where in a suite file each field was given its value.
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        is_cluster_given = self.cluster is not _NO_CLUSTER
        for declared in settings_of(type(self)):
            value = getattr(self, declared.name)
            if value is not declared.default:
                object.__setattr__(self, declared.name, declared.kind.read(declared.name, mark(value)))
        if not self.engine:
            object.__setattr__(self, "engine", "dask" if is_cluster_given else "local")


DEFAULTS = Suite()
