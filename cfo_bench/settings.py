"""The settings of a run, each declared once.

A field of `Settings` declares the name of a setting, its values, its purpose, and what it affects: whether
two runs must have it in common to be compared, or to be the same run. Its option on the command line, its key
in a suite file, its part of both JSON Schemas, its place in the header of a trace and in the reproducing
command, and the checks of `results/comparability.py` follow from that. To add one, add a field here, use it
where the run needs it (it is a field of `RunSpec`, too), and run `make schemas`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

from msgspec import Meta

from cfo_bench.values import (
    Count,
    Duration,
    Flag,
    Kind,
    Memory,
    OneOf,
    OpenShare,
    PositiveFloat,
    PositiveInt,
    Schema,
    Share,
    Text,
)

DEFAULT_LEARNER, DEFAULT_SEED = "xgboost", 0
DEFAULT_N_FOLDS = 10  # if a task has no official folds
CLOCKS = ("wall", "virtual")
VALIDATIONS = ("fold", "holdout")
ClockName = Annotated[str, Meta(pattern=f"^({'|'.join(CLOCKS)})$")]
ValidationName = Annotated[str, Meta(pattern=f"^({'|'.join(VALIDATIONS)})$")]


class Affects(enum.Flag):
    """The purpose for which a setting or a fact must be equal."""

    NOTHING = 0
    COMPARISON = enum.auto()  # two runs may be compared only if it is equal
    RESUME = enum.auto()  # a trace may be resumed only if it is equal


_BOTH = Affects.COMPARISON | Affects.RESUME


@dataclass(frozen=True)
class Setting:
    """The declaration of a setting. `setting` makes it, `settings_of` lists it."""

    kind: Kind  # the values that it accepts
    help: str  # its purpose in one sentence, for `--help`
    key: str  # its name in a suite file
    flag: str | None  # its option on the command line, such as "-j --jobs"; None: it has none
    by_default: str  # the default in words, if the value is not clear enough
    in_file: str  # its purpose, if a suite file needs other words than `--help`
    in_trace: str  # its purpose, if a trace needs other words
    name: str = ""  # the field
    default: Any = None

    @property
    def flags(self) -> list[str]:
        """The spellings of its option, the long one last."""
        if self.flag is None:
            return []
        return self.flag.split() or [f"--{self.key.replace('_', '-')}"]

    def default_in_words(self) -> str:
        plain = self.kind.plain(self.default)
        return self.by_default or ("" if plain is None else str(plain))

    def schema(self) -> Schema:
        """The JSON Schema of its value in a suite file."""
        words = f" By default {self.by_default}." if self.by_default else ""
        plain = None if self.by_default else self.kind.plain(self.default)
        return {
            "description": f"{self.in_file or self.help}{words}",
            **self.kind.reference(),
            **({} if plain is None else {"default": plain}),
        }


def setting(
    default: Any,
    kind: Kind,
    help: str,
    *,
    key: str = "",
    flag: str | None = "",
    by_default: str = "",
    in_file: str = "",
    in_trace: str = "",
    affects: Affects = Affects.NOTHING,
    plural: str = "",
) -> Any:
    """A dataclass field with its `Setting`.

    Without a `key`, the key is the field's name; without a `flag`, the option is spelled as the key. The
    default `dict` is a new dict for each record. The `plural` names the setting in a warning about runs that
    differ in it.
    """
    about = Setting(kind, help, key, flag, by_default, in_file, in_trace)
    metadata = {"setting": about, "affects": affects, "plural": plural}
    if default is dict:
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def affecting(affects: Affects, plural: str = "", **options: Any) -> Any:
    """A field that is no setting, but affects comparison or resumption; `options` are those of `field`."""
    return field(metadata={"affects": affects, "plural": plural}, **options)


def settings_of(record: type) -> list[Setting]:
    """Every setting that a record declares or inherits, in the order of its fields."""
    return [
        replace(about, name=declared.name, key=about.key or declared.name, default=declared.default)
        for declared in fields(record)
        if (about := declared.metadata.get("setting")) is not None
    ]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings with which every run is executed.

    A suite and the `RunSpec` of each of its runs have these fields.
    """

    # fmt: off
    n_folds: PositiveInt | None = setting(
        None, Count(), "Folds that the data is split into.",
        by_default=f"as many as the task has officially, or {DEFAULT_N_FOLDS}",
        affects=_BOTH, plural="numbers of folds",
    )
    budget_seconds: PositiveFloat | None = setting(
        None, Duration(), "Wall-clock time of a run: seconds, or 1h30m.",
        key="budget", in_file="Wall-clock time of each run: seconds, or 90s, 10m, 1h30m, 2d.",
        in_trace="Seconds of the run's clock.",
        affects=Affects.COMPARISON, plural="budgets (seconds)",
    )
    max_trials: PositiveInt | None = setting(
        None, Count(), "Stop a run after this number of trials.",
        in_trace="Maximum number of trials; null: no limit.",
    )
    trial_timeout_seconds: PositiveFloat | None = setting(
        None, Duration(), "Stop a trial after this time.",
        key="trial_timeout", in_trace="Maximum seconds of one trial; null: no limit.",
        affects=Affects.RESUME,
    )
    prepare_timeout_seconds: PositiveFloat = setting(
        600.0, Duration(), "Give up on a run whose data is not ready after this time.",
        key="prepare_timeout",
        in_trace="Maximum seconds to load the data and build the model's data, before the clock starts.",
    )
    threads: PositiveInt = setting(1, Count(), "Threads of each model.", affects=_BOTH, plural="threads")
    parallel: PositiveInt = setting(
        1, Count(), "Trials that run at the same time in each run.", affects=_BOTH, plural="trials at once"
    )
    memory_mb: PositiveInt | None = setting(
        None, Memory(), "Memory of each trial: megabytes, or 4GB.",
        key="memory", by_default="a fair share of the machine",
        in_file="Memory of each trial: megabytes, or 512MB, 4GB.",
        in_trace="Megabytes that each trial could take.",
    )
    metric: str | None = setting(
        None, Text("NAME"),
        "The metric to optimise: auc, log-loss, r2, a scikit-learn scorer such as f1, or metric.py:function.",
        by_default="auc for two classes, log-loss for more, r2 for regression",
        in_trace="The metric as requested; null: that of the problem type, or of the recording.",
    )
    validation: ValidationName = setting(
        "fold", OneOf(VALIDATIONS),
        "fold: measure the loss on the fold's held-out part; holdout: on a part split off its training rows.",
        affects=_BOTH, plural="ways of validation",
    )
    holdout_share: OpenShare = setting(
        0.2, Share(), "Share of training rows that --validation holdout splits off.",
        in_file="Share of training rows that validation: holdout splits off.",
        affects=_BOTH, plural="holdout shares",
    )
    clock: ClockName | None = setting(
        None, OneOf(CLOCKS), "wall: real seconds; virtual: recorded or computed seconds.",
        by_default="virtual if the learner does not train, otherwise wall",
        affects=_BOTH, plural="clocks",
    )
    charge_method: bool = setting(
        False, Flag(), "On the virtual clock, also count the seconds that the method itself takes.",
        affects=_BOTH, plural="values of charge_method",
    )
    # fmt: on


def required(name: str, default: Any) -> Any:
    """A field for a setting that a suite may leave unset, in a record that always has a value for it."""
    return field(default=default, metadata=Settings.__dataclass_fields__[name].metadata)
