"""The answer of a comparison: computed from its runs, and in words."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from cfo_bench.errors import UserError
from cfo_bench.metrics import MetricFacts
from cfo_bench.models import kind_of
from cfo_bench.registry import ESTIMATOR, family_of, label
from cfo_bench.report.contents import plural
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import FoldSeed
from cfo_bench.report.numbers.significance import (
    LEVEL,
    Estimate,
    corrected_t,
    least_p,
    too_few,
    triangle_step_up,
)
from cfo_bench.report.reading.consistency import comparable
from cfo_bench.report.reading.imported import as_if_ended
from cfo_bench.report.reading.load import Selection, load
from cfo_bench.results.comparison_record import ComparisonPlan
from cfo_bench.results.run import CONSTANT, FOREST, FOREST_LEARNER, Run
from cfo_bench.suite.model import Suite

# --- the answer in words --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Candidate:
    """A learner tuned by a method, or the reference forest, which tunes itself."""

    learner: str
    method: str
    score: Estimate  # in the metric of the task
    p: float = 1.0  # of the test against the best, corrected for choosing the best; 1 for the best itself

    @property
    def name(self) -> str:
        if self.method == FOREST:
            return f"{self.learner} ({FOREST})"
        return f"{label(self.learner)} tuned by {self.method}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    task, metric : str
        The name of the task, and the metric of the scores.
    metric_facts : MetricFacts
        The title, the direction and the bounds of the metric.
    by_test : bool
        Whether scores are on rows that no method has seen.
    candidates : sequence of Candidate
        The learners and methods, and the reference forest if it was done on all folds; the best first.
    constant, forest : float or None
        Scores of the references over the same folds; None if they have no result on all of them.
    beats_constant : bool
        Whether the best is better than the constant predictor, or the latter has no result.
    folds : int
        The number of folds that are compared.
    splits : int
        The number of splits to which these folds belong.
    can_add_folds : bool
        Whether more time could give more folds.
    budget_seconds : float
        The budget of each run.
    elapsed_seconds : float
        The time of the comparison so far.
    best_command : str
        The command that trains the best model.
    results : Path
        The folder of the traces.
    """

    task: str
    metric: str
    metric_facts: MetricFacts
    by_test: bool
    candidates: Sequence[Candidate]
    constant: float | None
    forest: float | None
    beats_constant: bool
    folds: int
    splits: int
    can_add_folds: bool
    budget_seconds: float
    elapsed_seconds: float
    best_command: str
    results: Path

    @property
    def sentence(self) -> str:
        """The verdict, the reasons, and the command for the model."""
        return " ".join(
            [self.verdict, *self.reasons, f"The command that trains the model: {self.best_command}"]
        )

    @property
    def verdict(self) -> str:
        """Which candidate is best, if the evidence is enough to name one."""
        best, *others = self.candidates
        metric = f"{'test' if self.by_test else 'validation'} {self.metric_facts.title}"
        score = f"{best.score.mean:.4f}"
        if not self.beats_constant:
            return f"No candidate beats the constant predictor; {best.name} has {score}."
        if not others:
            return f"Only {best.name} was compared: {metric} {score}."
        if all(self._is_worse(other) for other in others):
            return f"Best by a significant lead: {best.name}, {metric} {score}."
        return f"No significant winner. Best mean {metric}: {best.name}, {score}."

    @property
    def reasons(self) -> list[str]:
        """What the verdict is based on, one sentence each."""
        best, *others = self.candidates
        lines = [f"The mean is over {self._folds_in_words}.", *map(self._reason, others)]
        if best.score.low is not None:
            lines[0] = f"{lines[0][:-1]}; its 95 % interval is {best.score.low:.4f} to {best.score.high:.4f}."
        if self.forest is None:
            lines.append("The random forest did not finish in time, so it is not compared.")
        if self.constant is None:
            lines.append("The constant predictor did not finish in time.")
        else:
            lines.append(f"A constant predictor has {self.constant:.4f}.")
        if others and not self._can_test:
            remedy = "give more time with --for" if self.can_add_folds else "the split has no more"
            lines.append(f"{too_few(self.folds, 'fold')}: {remedy}.")
        return lines

    @property
    def _folds_in_words(self) -> str:
        folds = plural(self.folds, "fold")
        return folds if self.splits == 1 else f"{folds} of {plural(self.splits, 'split')}"

    @property
    def _can_test(self) -> bool:
        return least_p(self.folds, 1) < LEVEL

    def _is_worse(self, other: Candidate) -> bool:
        return other.p < LEVEL

    def _reason(self, other: Candidate) -> str:
        score, p = f"{other.name} has {other.score.mean:.4f}", f"(p = {other.p:.2g})"
        if self._is_worse(other):
            return f"{score}, significantly worse {p}."
        is_advised = other.method == FOREST and self.beats_constant and self._can_test
        advice = ": a plain forest may be enough" if is_advised else ""
        return f"{score}, not significantly worse {p}{advice}."


# --- from runs to the answer ----------------------------------------------------------------------

_Pair = tuple[str, str]  # learner and method


def answer_from(
    suite: Suite,
    plan: ComparisonPlan,
    task: str,
    places: Sequence[FoldSeed],
    n_folds: int,
    elapsed_seconds: float,
    *,
    can_add_folds: bool = True,
) -> Comparison | None:
    """The answer from the runs in the results folder; None if no fold was done by all candidates.

    The folds are the (fold, seed) pairs in `places`, of splits into `n_folds` folds.
    """
    results = _learner_results(suite, plan, task)
    losses = _losses(results, plan)
    pairs = [(learner, method) for learner in plan.learners for method in plan.methods]
    needed = [*pairs, (FOREST_LEARNER, FOREST)]
    compared = [place for place in places if all(place in losses.get(pair, ()) for pair in needed)]
    if not compared:
        return None

    def over_folds(pair: _Pair) -> list[float] | None:
        known = [loss for place in compared if (loss := losses.get(pair, {}).get(place)) is not None]
        return known if len(known) == len(compared) else None

    by_pair = {pair: of_pair for pair in needed if (of_pair := over_folds(pair)) is not None}
    best, *others = sorted(by_pair, key=lambda pair: fmean(by_pair[pair]))
    differences = [
        [loss - least for loss, least in zip(by_pair[pair], by_pair[best], strict=True)] for pair in others
    ]
    p = triangle_step_up([corrected_t(values, n_folds) for values in differences])
    scores = results[0].scores[0]
    constant, forest = over_folds((plan.learners[0], CONSTANT)), by_pair.get((FOREST_LEARNER, FOREST))
    return Comparison(
        task=task,
        metric=scores.metric,
        metric_facts=scores.metric_facts,
        by_test=scores.by_test,
        candidates=[
            Candidate(*pair, scores.estimate(by_pair[pair], n_folds), of_pair)
            for pair, of_pair in zip([best, *others], [1.0, *p], strict=True)
        ],
        constant=None if constant is None else scores.native(fmean(constant)),
        forest=None if forest is None else scores.native(fmean(forest)),
        beats_constant=constant is None or fmean(by_pair[best]) < fmean(constant),
        folds=len(compared),
        splits=len({seed for _, seed in compared}),
        can_add_folds=can_add_folds or len(compared) < len(places),
        budget_seconds=plan.budget_seconds,
        elapsed_seconds=elapsed_seconds,
        best_command=_best_command(suite, task, *best),
        results=suite.results,
    )


def _learner_results(suite: Suite, plan: ComparisonPlan, task: str) -> list[LearnerResults]:
    runs: list[Run] = []
    with suppress(UserError):  # no run has started
        runs = load(suite.results, Selection(plan.learners, (task,), plan.methods)).runs
    ended = comparable(as_if_ended(runs, plan.budget_seconds).runs, plan.budget_seconds).runs
    return [
        LearnerResults(learner, of_learner)
        for learner in plan.learners
        if (of_learner := [run for run in ended if run.learner == learner])
    ]


def _losses(
    results: Sequence[LearnerResults], plan: ComparisonPlan
) -> Mapping[_Pair, Mapping[FoldSeed, float | None]]:
    """The final loss of each run; None for a reference without a result.

    A method without a result counts as the constant predictor: it must not gain by failing.
    """
    losses: dict[_Pair, dict[FoldSeed, float | None]] = {}
    for of_learner in results:
        for run in of_learner.runs:
            final = next(iter(of_learner.incumbents(run).losses[-1:]), None)
            if final is None and run.method in plan.methods:
                final = run.constant_loss
            pair = (FOREST_LEARNER if run.method == FOREST else run.learner, run.method)
            losses.setdefault(pair, {})[run.fold, run.seed] = final
    return losses


def _best_command(suite: Suite, task: str, learner: str, method: str) -> str:
    """The command that trains the best model on all rows, or shows a plug-in learner's configuration."""
    words = ["cfo-bench", "best", str(suite.results)]
    with suppress(UserError):
        suffix = kind_of(FOREST if method == FOREST else learner).suffixes[0]
        words += ["--fit", str(suite.data_file), "-o", f"{task}{suffix}"]
        words += ["--drop-missing-target"] if suite.drop_missing_target else []
        words += ["--trust-learner"] if family_of(learner) == ESTIMATOR and method != FOREST else []
    return shlex.join(words)
