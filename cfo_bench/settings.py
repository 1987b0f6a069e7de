"""The settings of a run, each declared once.

A field of `Settings` says what a setting is called, which values it takes, and what it is for. Its option
on the command line, its key in a suite file, its part of both JSON Schemas, its place in a trace's header
and in the command that repeats a run follow from that. To add one, add a field here, use it where the run
needs it (it is a field of `RunSpec`, too), and run `make schemas`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from cfo_bench.values import Count, Duration, Flag, Kind, Memory, OneOf, Schema, Share

DEFAULT_LEARNER, DEFAULT_SEED = "xgboost", 0
DEFAULT_N_FOLDS = 10  # where a task has no official folds
CLOCKS = ("wall", "virtual")
VALIDATIONS = ("fold", "holdout")


@dataclass(frozen=True)
class Setting:
    """What is declared of a setting. `setting` makes it, `settings_of` lists it."""

    kind: Kind  # which values it takes
    help: str  # what it is for: one sentence, for `--help`
    key: str  # its name in a suite file
    flag: str | None  # its option on the command line, such as "-j --jobs"; None: it has none
    by_default: str  # the default in words, where the value doesn't tell
    in_file: str  # what it is for, where a suite file needs other words than `--help`
    in_trace: str  # the same for a trace
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

    def trace_schema(self, may_be_null: bool) -> Schema:
        """The JSON Schema of its value in a trace's header."""
        schema = self.kind.trace_schema()
        if may_be_null and "enum" in schema:
            schema = {**schema, "enum": [*schema["enum"], None]}
        elif may_be_null:
            schema = {**schema, "type": [schema["type"], "null"]}
        return {"description": self.in_trace or self.help, **schema}


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
) -> Any:
    """A dataclass field with its `Setting`.

    Without a `key`, the key is the field's name; without a `flag`, the option is spelled as the key. The
    default `dict` is a new dict for each record.
    """
    about = Setting(kind, help, key, flag, by_default, in_file, in_trace)
    if default is dict:
        return field(default_factory=dict, metadata={"setting": about})
    return field(default=default, metadata={"setting": about})


def settings_of(record: type) -> list[Setting]:
    """Every setting that a record declares or inherits, in the order of its fields."""
    return [
        replace(about, name=one.name, key=about.key or one.name, default=one.default)
        for one in fields(record)
        if (about := one.metadata.get("setting")) is not None
    ]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How each run is done, whatever it runs.

    A suite has these fields, and so has the `RunSpec` of each of its runs.
    """

    # fmt: off
    n_folds: int | None = setting(
        None, Count(), "Folds that the data is split into.",
        by_default=f"as many as the task has officially, or {DEFAULT_N_FOLDS}",
    )
    budget_seconds: float | None = setting(
        None, Duration(), "Wall-clock time of a run: seconds, or 1h30m.",
        key="budget", in_file="Wall-clock time of each run: seconds, or 90s, 10m, 1h30m, 2d.",
        in_trace="Seconds of the run's clock.",
    )
    max_trials: int | None = setting(
        None, Count(), "Stop a run after this number of trials.", in_trace="The most trials; null: no limit."
    )
    trial_timeout_seconds: float | None = setting(
        None, Duration(), "Stop a trial after this time.",
        key="trial_timeout", in_trace="The most seconds of one trial; null: no limit.",
    )
    prepare_timeout_seconds: float = setting(
        600.0, Duration(), "Give up on a run whose data is not ready after this time.",
        key="prepare_timeout",
        in_trace="The most seconds to load the data and build the model's data, before the clock starts.",
    )
    threads: int = setting(1, Count(), "Threads of each model.")
    parallel: int = setting(1, Count(), "Trials that run at the same time in each run.")
    memory_mb: int | None = setting(
        None, Memory(), "Memory of each trial: megabytes, or 4GB.",
        key="memory", by_default="a fair share of the machine",
        in_file="Memory of each trial: megabytes, or 512MB, 4GB.",
        in_trace="Megabytes that each trial could take.",
    )
    validation: str = setting(
        "fold", OneOf(VALIDATIONS),
        "fold: measure the loss on the fold's held-out part; holdout: on a part split off its training rows.",
    )
    holdout_share: float = setting(
        0.2, Share(), "Share of training rows that --validation holdout splits off.",
        in_file="Share of training rows that validation: holdout splits off.",
    )
    clock: str | None = setting(
        None, OneOf(CLOCKS), "wall: real seconds; virtual: recorded or computed seconds.",
        by_default="virtual where the learner does not train, else wall",
    )
    charge_method: bool = setting(
        False, Flag(), "On the virtual clock, also count the seconds that the method itself takes."
    )
    # fmt: on
