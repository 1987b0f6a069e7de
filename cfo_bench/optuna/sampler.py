"""CFO as a sampler of Optuna: cheap configurations first.

The state of a search is in the study, not in the sampler: each trial stores its position in the search, and a
new process replays the search from these positions (docs/optuna.md describes the rules).
"""

from __future__ import annotations

import hashlib
import os
import platform
import threading
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.errors import MissingPackageError, OptionError
from cfo_bench.optimizers.cfo import CFO
from cfo_bench.optimizers.cfo_tuned import CFOTuned
from cfo_bench.space import Config, Float, Space

try:
    import optuna
except ModuleNotFoundError as _error:
    raise MissingPackageError("cfo_bench.optuna", "optuna", "pip install optuna") from _error

from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from cfo_bench.optuna.search import PLACE, Branch, CFOSearch, Dimension, StudyMemory

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study

_MODES: dict[str, type[CFO] | type[CFOTuned]] = {"paper": CFO, "tuned": CFOTuned}
# The system attribute of a study that holds its seed.
_SEED = "cfo_bench:seed"
# A part of a search's key, so that a version that may propose other configurations starts a new search.
_VERSIONS = {"paper": 2, "tuned": 4}

_logger = optuna.logging.get_logger(__name__)


class CFOSampler(BaseSampler):
    """Cost-frugal optimisation (CFO) for the studies of Optuna.

    Parameters
    ----------
    start : mapping of str to value, optional
        A cheap configuration, where the search starts. It may leave hyperparameters out.
    cost_related : sequence of str, optional
        The hyperparameters that determine the cost. One that `start` leaves out starts at its lowest value.
    seed : int, optional
        The seed of the search. If it is None, one is drawn for each study and kept in its storage.
    mode : {"paper", "tuned"}, default "paper"
        The paper's CFO, or the method `cfo-tuned`.
    **options
        Other options of the method, such as CFO's `delta_init` (`cfo-bench methods cfo` lists them).

    Raises
    ------
    OptionError
        If a parameter or option has a wrong value.

    Examples
    --------
    >>> import optuna
    >>> from cfo_bench.optuna import CFOSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def loss(trial):
    ...     trees = trial.suggest_int("trees", 4, 1000, log=True)
    ...     return abs(trees - 100)
    >>> study = optuna.create_study(sampler=CFOSampler(start={"trees": 4}, cost_related=["trees"], seed=1))
    >>> study.optimize(loss, n_trials=40)
    >>> study.trials[0].params, study.best_value < 20
    ({'trees': 4}, True)
    """

    def __init__(
        self,
        start: Mapping[str, Any] | None = None,
        cost_related: Sequence[str] = (),
        *,
        seed: int | None = None,
        mode: str = "paper",
        **options: Any,
    ) -> None:
        if mode not in _MODES:
            raise OptionError(f"mode {mode!r}: choose from {', '.join(_MODES)}")
        if "parallel" in options:
            raise OptionError("option 'parallel': CFOSampler starts parallel searches itself; leave it out")
        if isinstance(cost_related, str):
            raise OptionError(f"cost_related {cost_related!r}: give a list of names")
        if seed is not None and not (type(seed) is int and seed >= 0):
            raise OptionError(f"seed {seed!r}: give a whole number from 0 on, or None")
        self._start, self._cost_related = dict(start or {}), tuple(cost_related)
        self._seed, self._mode, self._options = seed, mode, options
        self._build(Space([Float("x", 1.0, 2.0)]), {"x": 1.0}, 0)  # checks the options now
        self._forget()

    # --- called by Optuna ---------------------------------------------------------------------

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The hyperparameters with the same distribution in all finished trials."""
        if len(study.directions) > 1:
            raise ValueError(f"the study has {len(study.directions)} objectives: CFOSampler supports one")
        with self._lock:
            return self._memory_of(study).space()

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next configuration of CFO; empty for a trial that was enqueued."""
        if not search_space or {"fixed_params", PLACE} & trial.system_attrs.keys():
            return {}
        with self._lock:
            memory = self._memory_of(study)
            for branch in self._in_turn(memory, trial):
                dimensions = [Dimension.of(name, branch.space[name]) for name in sorted(branch.space)]
                if branch.choices and not branch.trials:
                    return {**branch.choices, **_as_optuna(dimensions, self._start_in(dimensions))}
                if not dimensions:
                    continue
                proposal = self._search(memory, dimensions, branch.choices).claim(memory)
                if proposal is not None:
                    place, config = proposal
                    study._storage.set_trial_system_attr(
                        trial._trial_id, PLACE, [*place, platform.node(), os.getpid()]
                    )
                    return {**branch.choices, **_as_optuna(dimensions, config)}
            dimensions = [Dimension.of(name, search_space[name]) for name in sorted(search_space)]
            return self._drawn(memory, trial, dimensions)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """The start in the first trial that has this hyperparameter; later a draw around the start."""
        with self._lock:
            memory = self._memory_of(study)
            dimension = Dimension.of(param_name, param_distribution)
            value = dimension.start(self._start, self._cost_related)
            earlier = memory.trials[: trial.number]
            if any(param_name in past.params or past.state == TrialState.RUNNING for past in earlier):
                value = dimension.around(value, self._rng(memory, trial, param_name))
        return dimension.to_optuna(value)

    def reseed_rng(self) -> None:
        """Does nothing: the draws of a trial depend on its number, so no two trials draw the same."""

    # --- the study and its searches -----------------------------------------------------------

    def _build(self, space: Space, start: Config, seed: int) -> CFO | CFOTuned:
        return _MODES[self._mode](space, start, seed, **self._options_in(start))

    def _options_in(self, names: Collection[str]) -> dict[str, Any]:
        """The method's options in a space of these hyperparameters. Only the mode "tuned" receives the names
        of the cost-related ones; the mode "paper" needs only the start.
        """
        if self._mode == "paper":
            return self._options
        return {**self._options, "cost_related": [name for name in self._cost_related if name in names]}

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._memory: StudyMemory | None = None

    def _memory_of(self, study: Study) -> StudyMemory:
        """The memory of the study, updated from its storage."""
        storage, study_id = study._storage, study._study_id
        memory = self._memory
        if memory is None or memory.storage is not storage or memory.study_id != study_id:
            sign = -1.0 if study.directions[0] == optuna.study.StudyDirection.MAXIMIZE else 1.0
            memory = self._memory = StudyMemory(storage, study_id, self._seed_of(storage, study_id), sign)
        memory.update()
        return memory

    def _seed_of(self, storage: Any, study_id: int) -> int:
        if self._seed is not None:
            return self._seed
        if _SEED not in storage.get_study_system_attrs(study_id):
            entropy = np.random.SeedSequence().entropy
            assert isinstance(entropy, int)
            storage.set_study_system_attr(study_id, _SEED, entropy % 2**32)
        seed: int = storage.get_study_system_attrs(study_id)[_SEED]
        return seed

    def _in_turn(self, memory: StudyMemory, trial: FrozenTrial) -> list[Branch]:
        """The branches, the one for this trial first.

        Trials alternate between the branch with the lowest loss and the branch with the fewest trials. The
        other branches follow, in case the search of the first is exhausted.
        """
        branches = memory.branches()
        if trial.number % 2:
            return sorted(branches, key=lambda branch: len(branch.trials))
        return sorted(branches, key=lambda branch: branch.best(memory.sign))

    def _start_in(self, dimensions: Sequence[Dimension]) -> Config:
        return {dimension.name: dimension.start(self._start, self._cost_related) for dimension in dimensions}

    def _search(
        self, memory: StudyMemory, dimensions: Sequence[Dimension], choices: Mapping[str, Any]
    ) -> CFOSearch:
        """The search in this space. Its key covers everything that determines its proposals."""
        start = self._start_in(dimensions)
        parts = (
            _VERSIONS[self._mode],
            self._mode,
            sorted(self._options_in(start).items()),
            memory.seed,
            [(dimension.name, repr(dimension.distribution)) for dimension in dimensions],
            start,
            sorted(choices.items()),
        )
        key = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
        if key not in memory.searches:
            memory.searches[key] = CFOSearch(key, self._build, memory.seed, start, dimensions, choices)
        return memory.searches[key]

    def _drawn(
        self, memory: StudyMemory, trial: FrozenTrial, dimensions: Sequence[Dimension]
    ) -> dict[str, Any]:
        """A random configuration, for when CFO has nothing new to propose."""
        if not memory.has_warned:
            memory.has_warned = True
            _logger.warning("CFO has tried all within its reach: from now on, configurations are random.")
        config = Space([dimension.param for dimension in dimensions]).sample(self._rng(memory, trial, ""))
        return _as_optuna(dimensions, config)

    @staticmethod
    def _rng(memory: StudyMemory, trial: FrozenTrial, name: str) -> np.random.Generator:
        return np.random.default_rng([memory.seed, trial.number, *hashlib.sha256(name.encode()).digest()[:8]])

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_lock", "_memory")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()


def _as_optuna(dimensions: Sequence[Dimension], config: Config) -> dict[str, Any]:
    return {dimension.name: dimension.to_optuna(config[dimension.name]) for dimension in dimensions}
