"""CFO's searches in an optuna study, brought to where they stand by the study's own trials.

A trial of a search holds its place there. To know where a search stands, CFO is asked and told again, in
the same order: so a search goes on in another process, or after a restart.
"""

from __future__ import annotations

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

# --- optuna space ----------------------------------------------------------------------------------
# The hyperparameters of an optuna study as CFO searches them.


@dataclass(frozen=True, slots=True)
class Dimension:
    """One hyperparameter.

    A choice is searched by its index, and a number with a step by its place on the grid. The places count
    from the multiple of the step that is nearest to the lower bound, so that they double where the number
    doubles.
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
            first = _first_place(distribution)
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
        found = distribution.low + (value - _first_place(distribution)) * step
        return min(found, distribution.high)

    def from_optuna(self, value: Any) -> Any:
        """Of a value that lies in the distribution, as every value of a trial does."""
        internal = self.distribution.to_internal_repr(value)
        distribution = self.distribution
        if isinstance(distribution, CategoricalDistribution):
            return int(internal)
        assert isinstance(distribution, IntDistribution | FloatDistribution)
        step = _step(distribution)
        if step is not None:
            return _first_place(distribution) + round((internal - distribution.low) / step)
        return self.param.check(int(internal) if isinstance(self.param, Int) else internal)

    def start(self, given: Mapping[str, Any], cost_related: Collection[str]) -> Any:
        """The given value; else the lowest if it drives the cost, or the middle, or the first choice."""
        if self.name in given:
            value = given[self.name]
            try:
                is_in_it = self.distribution._contains(self.distribution.to_internal_repr(value))
            except (TypeError, ValueError):  # no number, or none of the choices
                is_in_it = False
            if not is_in_it:
                raise SpaceError(
                    f"the start has {self.name} = {value!r}: give a value of {self.distribution}"
                )
            return self.from_optuna(value)
        if isinstance(self.param, Categorical):
            return 0
        return self.param.low if self.name in cost_related else self.param.at(0.5)

    def around(self, start: Any, rng: np.random.Generator) -> Any:
        """A draw around the start, one standard deviation being a factor of two: as CFO draws a restart."""
        geometry = Geometry(Space([self.param]), "log2", LINEAR_SPAN)
        centre = geometry.encode({self.name: start})
        drawn = geometry.project([centre.vector[0] + float(rng.standard_normal())], centre, rng)
        return geometry.config(drawn)[self.name]


def _step(distribution: IntDistribution | FloatDistribution) -> float | None:
    """None: the values have no grid but their own."""
    step = distribution.step
    return None if step is None or (isinstance(distribution, IntDistribution) and step == 1) else step


def _first_place(distribution: IntDistribution | FloatDistribution) -> int:
    nearest = round(distribution.low / (_step(distribution) or 1))
    return max(nearest, 1) if distribution.low > 0 else nearest


# --- optuna search ---------------------------------------------------------------------------------


# Under which name a trial holds its place in a search, and who evaluates it.
PLACE = "cfo_bench:place"
# The search's key, one of its streams, and the stream's count of proposals.
SearchPlace = tuple[str, int, int]


@dataclass
class StudyMemory:
    """What is known of one study."""

    storage: Any
    study_id: int
    seed: int
    sign: float  # -1 for a study that maximises
    trials: list[FrozenTrial] = field(default_factory=list)
    searches: dict[str, CFOSearch] = field(default_factory=dict)
    has_warned: bool = False
    # What is told for each place, with when its trial was done and its number: the first one counts.
    told: dict[SearchPlace, tuple[Any, int, Result]] = field(default_factory=dict)
    under_way: dict[SearchPlace, list[tuple[str, int]]] = field(
        default_factory=dict
    )  # by whom: node and process
    elsewhere: list[FrozenTrial] = field(default_factory=list)  # finished trials of no search
    _finished: set[int] = field(default_factory=set)
    # None: it has not always had the same one.
    _distributions: dict[str, BaseDistribution | None] = field(default_factory=dict)

    def update(self) -> None:
        self.trials = self.storage.get_all_trials(self.study_id, deepcopy=False)
        self.under_way = {}
        for trial in self.trials:
            if trial.number in self._finished:
                continue
            place, holder = None, None
            if PLACE in trial.system_attrs:
                key, stream, number, *holder = trial.system_attrs[PLACE]
                place = (key, stream, number)
            if not trial.state.is_finished():
                if place is not None and holder and trial.state == TrialState.RUNNING:
                    self.under_way.setdefault(place, []).append((holder[0], holder[1]))
                continue
            self._finished.add(trial.number)
            for name, distribution in trial.distributions.items():
                known = self._distributions.get(name, distribution)
                self._distributions[name] = distribution if known == distribution else None
            if place is None:
                self.elsewhere.append(trial)
                continue
            mine = (trial.datetime_complete, trial.number, self.result(trial))
            self.told[place] = min(self.told.get(place, mine), mine, key=lambda one: one[:2])

    def space(self) -> dict[str, BaseDistribution]:
        return {
            name: distribution
            for name, distribution in sorted(self._distributions.items())
            if distribution is not None and not distribution.single()
        }

    def result(self, trial: FrozenTrial) -> Result:
        """A trial that was pruned or failed is no better than any other. Its seconds are in the storage."""
        seconds = trial.duration.total_seconds() if trial.duration is not None else 0.0
        if trial.state != TrialState.COMPLETE or trial.value is None:
            return Result(Status.FAILED, fit_seconds=seconds)
        return Result.ok(self.sign * trial.value, seconds)


class CFOSearch:
    """CFO in one space: streams of proposals, each of which waits for a result before it goes on.

    The first stream is what CFO is with one trial at a time. A trial that is asked for while all streams wait
    opens another one, which starts at a point of its own around the start, as CFO's parallel threads do.
    """

    def __init__(
        self,
        key: str,
        build: Callable[[Space, Config, int], CFO | CFOTuned],
        seed: int,
        start: Config,
        dimensions: Sequence[Dimension],
    ) -> None:
        self._key, self._build, self._seed = key, build, seed
        self._start, self._dimensions = start, dimensions
        self._streams: list[_Stream] = []

    def claim(self, memory: StudyMemory) -> tuple[SearchPlace, Config] | None:
        """A proposal that nobody evaluates; None if there is nothing new to propose."""
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
            if not any(_is_alive(node, pid) for node, pid in memory.under_way.get(place, ())):
                return place, proposal.config
        raise AssertionError("there is always another stream")

    def _optimizer(self, number: int) -> CFO | CFOTuned:
        cfo = self._build(Space([one.param for one in self._dimensions]), self._start, self._seed)
        if number > 0:
            thread = cfo.threads[0]
            thread.rng = np.random.default_rng([self._seed, number])
            thread.x = thread.around_x0(taken={thread.x0.values})
        return cfo

    def _result(self, memory: StudyMemory, stream: int, proposal: Trial) -> Result | None:
        told = memory.told.get((self._key, stream, proposal.number))
        if told is not None:
            return told[2]
        if stream == 0 and proposal.number == 0:
            # The first trial of a study is the start, and was made before the space was known.
            same = [trial for trial in memory.elsewhere if self._is_start(trial)]
            if same:
                first = min(same, key=lambda trial: (trial.datetime_complete, trial.number))
                return memory.result(first)
        return None

    def _is_start(self, trial: FrozenTrial) -> bool:
        return all(
            trial.distributions.get(one.name) == one.distribution
            and one.from_optuna(trial.params[one.name]) == self._start[one.name]
            for one in self._dimensions
        )


class _Stream:
    """One CFO, with the trial that it has asked for."""

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
    """Whether that process still works on its trial. On another machine nobody can tell: then it does."""
    if node != platform.node() or pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
