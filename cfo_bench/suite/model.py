"""The model of a suite: everything that a file, a command line or a Python program can ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfo_bench.kinds import Count, FilePath, Flag, OneOf, Several, Text, UpTo
from cfo_bench.records import Problem
from cfo_bench.settings import DEFAULT_LEARNER, DEFAULT_SEED, Settings, setting, settings_of
from cfo_bench.suite.choices import Choice, Named, Options, Pick, Tasks
from cfo_bench.suite.cluster import CLUSTER_KINDS, Cluster, ClusterKeys
from cfo_bench.suite.folds import Folds
from cfo_bench.marked import mark

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
