"""CFO's searches in an Optuna study, replayed from the trials of the study.

Each trial stores its position in its search. To restore a search, CFO's `ask` and `tell` are called again in
the same order. Therefore a search can continue in another process, or after a restart.

In a conditional space, each branch has its own search. A branch consists of the trials with the same values
of the choices that determine which hyperparameters exist.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from cfo_bench.errors import Exhausted, SpaceError
from cfo_bench.optimizers.cfo import CFO
from cfo_bench.optimizers.cfo_tuned import CFOTuned
from cfo_bench.optimizers.geometry import LINEAR_SPAN, Geometry
from cfo_bench.records import Result, Status, Trial
from cfo_bench.space import Categorical, Config, Float, Int, Param, Space

# The system attribute of a trial with its position in a search and the process that evaluates it.
PLACE = "cfo_bench:place"
# The key of the search, the number of a stream, and the number of a proposal of that stream.
SearchPlace = tuple[str, int, int]


@dataclass
class StudyMemory:
    """The state of the searches of one study, derived from its trials."""

    storage: Any
    study_id: int
    seed: int
    sign: float  # -1 for a study that maximises
    trials: list[FrozenTrial] = field(default_factory=list)
    searches: dict[str, CFOSearch] = field(default_factory=dict)
    has_warned: bool = False
    # The result at each position, with the completion time and number of its trial: the first trial counts.
    results: dict[SearchPlace, tuple[Any, int, Result]] = field(default_factory=dict)
    # The node and process that evaluate the trial at a position.
    running: dict[SearchPlace, list[tuple[str, int]]] = field(default_factory=dict)
    other_trials: list[FrozenTrial] = field(default_factory=list)  # finished trials that belong to no search
    _finished: set[int] = field(default_factory=set)
    _name_sets: set[frozenset[str]] = field(default_factory=set)  # the hyperparameters of completed trials
    # None if the distribution differs between trials.
    _distributions: dict[str, BaseDistribution | None] = field(default_factory=dict)

    def update(self) -> None:
        self.trials = self.storage.get_all_trials(self.study_id, deepcopy=False)
        self.running = {}
        for trial in self.trials:
            if trial.number in self._finished:
                continue
            place, holder = None, None
            if PLACE in trial.system_attrs:
                key, stream, number, *holder = trial.system_attrs[PLACE]
                place = (key, stream, number)
            if not trial.state.is_finished():
                if place is not None and holder and trial.state == TrialState.RUNNING:
                    self.running.setdefault(place, []).append((holder[0], holder[1]))
                continue
            self._finished.add(trial.number)
            if trial.state == TrialState.COMPLETE:
                self._name_sets.add(frozenset(trial.params))
            for name, distribution in trial.distributions.items():
                known = self._distributions.get(name, distribution)
                self._distributions[name] = distribution if known == distribution else None
            if place is None:
                self.other_trials.append(trial)
                continue
            entry = (trial.datetime_complete, trial.number, self.result(trial))
            self.results[place] = min(self.results.get(place, entry), entry, key=lambda result: result[:2])

    def space(self) -> dict[str, BaseDistribution]:
        return {
            name: distribution
            for name, distribution in sorted(self._distributions.items())
            if distribution is not None and not distribution.single()
        }

    def branches(self) -> list[Branch]:
        """The branches of the space: a single one if all completed trials have the same hyperparameters."""
        whole = Branch({}, [trial for trial in self.trials if trial.state.is_finished()], self.space())
        return _split(whole) if len(self._name_sets) > 1 else [whole]

    def result(self, trial: FrozenTrial) -> Result:
        """The result of a finished trial. A pruned or failed trial has no loss."""
        seconds = trial.duration.total_seconds() if trial.duration is not None else 0.0
        if trial.state != TrialState.COMPLETE or trial.value is None:
            return Result(Status.FAILED, fit_seconds=seconds)
        return Result.ok(self.sign * trial.value, seconds)


@dataclass(frozen=True)
class Branch:
    """A part of a conditional space, with its finished trials and the hyperparameters that it may have."""

    choices: dict[str, Any]  # the values of the choices that define it
    trials: list[FrozenTrial]
    space: dict[str, BaseDistribution]

    @property
    def completed(self) -> list[FrozenTrial]:
        """The completed trials. Only these are known to have all their hyperparameters."""
        return [trial for trial in self.trials if trial.state == TrialState.COMPLETE]

    def best(self, sign: float) -> float:
        """The lowest loss of its trials."""
        return min(
            (sign * trial.value for trial in self.completed if trial.value is not None), default=math.inf
        )


def _split(branch: Branch) -> list[Branch]:
    """The branches of a branch, by the choice that determines the presence of the most hyperparameters.

    A choice determines the presence of a hyperparameter if all trials with some of its values have it, and no
    trial with another value has it. A value without trials is a branch without trials.
    """
    completed = branch.completed
    names = {name for trial in completed for name in trial.params}
    common = {name for name in names if all(name in trial.params for trial in completed)}
    choices = {
        name: distribution
        for name, distribution in branch.space.items()
        if isinstance(distribution, CategoricalDistribution) and name in common
    }
    numbers = {name: _n_decided(name, choices[name], completed, names - common) for name in choices}
    name = max(numbers, key=lambda name: numbers[name], default="")
    if not numbers.get(name):
        return [branch]
    branches = []
    for value in choices[name].choices:
        trials = [trial for trial in branch.trials if name in trial.params and trial.params[name] == value]
        present = {other for trial in trials for other in trial.params} or common
        space = {other: branch.space[other] for other in branch.space if other in present and other != name}
        branches += _split(Branch({**branch.choices, name: value}, trials, space))
    return branches


def _n_decided(
    name: str, distribution: CategoricalDistribution, trials: Sequence[FrozenTrial], others: Collection[str]
) -> int:
    """The number of other hyperparameters whose presence the choice `name` determines."""
    groups: dict[float, list[FrozenTrial]] = {}
    for trial in trials:
        groups.setdefault(distribution.to_internal_repr(trial.params[name]), []).append(trial)
    shares = [
        {sum(other in trial.params for trial in group) / len(group) for group in groups.values()}
        for other in others
    ]
    return sum(share == {0.0, 1.0} for share in shares)


class CFOSearch:
    """CFO in one space: streams of proposals, each of which waits for a result before it continues.

    The first stream is CFO with one trial at a time. A trial that is requested while all streams wait opens
    another stream, which starts at another point near the start, like CFO's parallel threads.
    """

    def __init__(
        self,
        key: str,
        build: Callable[[Space, Config, int], CFO | CFOTuned],
        seed: int,
        start: Config,
        dimensions: Sequence[Dimension],
        choices: Mapping[str, Any],
    ) -> None:
        self._key, self._build, self._seed = key, build, seed
        self._start, self._dimensions, self._choices = start, dimensions, choices
        self._streams: list[_Stream] = []

    def claim(self, memory: StudyMemory) -> tuple[SearchPlace, Config] | None:
        """A proposal that no process is evaluating; None if there is nothing new to propose."""
        for number in count():
            if number == len(self._streams):
                self._streams.append(_Stream(self._optimizer(number)))
            stream = self._streams[number]
            try:
                while (result := self._result(memory, number, stream.proposal())) is not None:
                    stream.tell(result)
            except Exhausted:
                if number == 0:
                    return None
                continue
            proposal = stream.proposal()
            place = (self._key, number, proposal.number)
            if not any(_is_alive(node, pid) for node, pid in memory.running.get(place, ())):
                return place, proposal.config
        raise AssertionError("there is always another stream")

    def _optimizer(self, number: int) -> CFO | CFOTuned:
        space = Space([dimension.param for dimension in self._dimensions])
        cfo = self._build(space, self._start, self._seed)
        if number > 0:
            thread = cfo.threads[0]
            thread.rng = np.random.default_rng([self._seed, number])
            thread.x = thread.around_x0(taken={thread.x0.values})
        return cfo

    def _result(self, memory: StudyMemory, stream: int, proposal: Trial) -> Result | None:
        entry = memory.results.get((self._key, stream, proposal.number))
        if entry is not None:
            return entry[2]
        if stream == 0 and proposal.number == 0:
            # The first trial of a study is the start, sampled before the space was known.
            starts = [trial for trial in memory.other_trials if self._is_start(trial)]
            if starts:
                return memory.result(min(starts, key=lambda trial: (trial.datetime_complete, trial.number)))
        return None

    def _is_start(self, trial: FrozenTrial) -> bool:
        return all(trial.params.get(name) == value for name, value in self._choices.items()) and all(
            trial.distributions.get(dimension.name) == dimension.distribution
            and dimension.from_optuna(trial.params[dimension.name]) == self._start[dimension.name]
            for dimension in self._dimensions
        )


class _Stream:
    """An optimizer and the last trial that it asked for."""

    def __init__(self, optimizer: CFO | CFOTuned) -> None:
        self._optimizer = optimizer
        self._proposal: Trial | None = None

    def proposal(self) -> Trial:
        if self._proposal is None:
            self._proposal = self._optimizer.ask()
        return self._proposal

    def tell(self, result: Result) -> None:
        self._optimizer.tell(self.proposal(), result)
        self._proposal = None


def _is_alive(node: str, pid: int) -> bool:
    """Whether the process still exists. For another machine this is unknown, and assumed to be true."""
    if node != platform.node() or pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


# --- hyperparameters of Optuna ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dimension:
    """A hyperparameter of a study on the scale on which CFO searches it.

    A choice is searched by its index, and a number with a step by its index on the grid. The indices count
    from the multiple of the step that is nearest to the lower bound, so that the index doubles where the
    number doubles.
    """

    distribution: BaseDistribution
    param: Param

    @classmethod
    def of(cls, name: str, distribution: BaseDistribution) -> Dimension:
        if isinstance(distribution, CategoricalDistribution):
            return cls(distribution, Categorical(name, range(len(distribution.choices))))
        assert isinstance(distribution, IntDistribution | FloatDistribution)
        low, high = distribution.low, distribution.high
        if (step := _step(distribution)) is not None:
            first = _first_index(distribution)
            return cls(distribution, Int(name, first, first + round((high - low) / step)))
        kind: type[Int | Float] = Int if isinstance(distribution, IntDistribution) else Float
        return cls(distribution, kind(name, low, high, distribution.log))  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        return self.param.name

    def to_optuna(self, value: Any) -> Any:
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            return distribution.choices[value]
        assert isinstance(distribution, IntDistribution | FloatDistribution)
        step = _step(distribution)
        if step is None:
            return value
        return min(distribution.low + (value - _first_index(distribution)) * step, distribution.high)

    def from_optuna(self, value: Any) -> Any:
        """The inverse of `to_optuna`, for a value that lies in the distribution."""
        internal = self.distribution.to_internal_repr(value)
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            return int(internal)
        assert isinstance(distribution, IntDistribution | FloatDistribution)
        step = _step(distribution)
        if step is not None:
            return _first_index(distribution) + round((internal - distribution.low) / step)
        return self.param.check(int(internal) if isinstance(self.param, Int) else internal)

    def start(self, given: Mapping[str, Any], cost_related: Collection[str]) -> Any:
        """The given value; if none is given, the first choice, or the lowest value of a cost-related number,
        or the middle of any other.
        """
        if self.name in given:
            value = given[self.name]
            try:
                is_contained = self.distribution._contains(self.distribution.to_internal_repr(value))
            except (TypeError, ValueError):  # not a number, or not one of the choices
                is_contained = False
            if not is_contained:
                raise SpaceError(
                    f"the start has {self.name} = {value!r}: give a value of {self.distribution}"
                )
            return self.from_optuna(value)
        if isinstance(self.param, Categorical):
            return 0
        return self.param.low if self.name in cost_related else self.param.at(0.5)

    def around(self, start: Any, rng: np.random.Generator) -> Any:
        """A draw around the start with a standard deviation of a factor of two, like a restart of CFO."""
        geometry = Geometry(Space([self.param]), "log2", LINEAR_SPAN)
        centre = geometry.encode({self.name: start})
        drawn = geometry.project([centre.vector[0] + float(rng.standard_normal())], centre, rng)
        return geometry.config(drawn)[self.name]


def _step(distribution: IntDistribution | FloatDistribution) -> float | None:
    """The step of a grid that is coarser than the values themselves; None if there is no such grid."""
    step = distribution.step
    return None if step is None or (isinstance(distribution, IntDistribution) and step == 1) else step


def _first_index(distribution: IntDistribution | FloatDistribution) -> int:
    nearest = round(distribution.low / (_step(distribution) or 1))
    return max(nearest, 1) if distribution.low > 0 else nearest
