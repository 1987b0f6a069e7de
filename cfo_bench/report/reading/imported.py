"""Imported runs beside measured ones: what their source does not tell is taken from those, and said."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from cfo_bench.errors import CfoBenchError
from cfo_bench.metrics import METRICS
from cfo_bench.report.contents import plural, some
from cfo_bench.report.reading.digest import Digest, State, digest_of, run_names
from cfo_bench.report.reading.load import is_reference
from cfo_bench.results.limits import finished_before
from cfo_bench.results.shortening import shortened
from cfo_bench.results.trace import lines_of

# --- shortening ------------------------------------------------------------------------------------
# Reads runs as if they had had a shorter budget: `cfo-bench report --budget`.


@dataclass(frozen=True, slots=True)
class Shortened:
    """The runs as if they had ended sooner, and what a reader has to know of it."""

    digests: list[Digest]
    unreadable: list[str]  # a line for each trace that can't be read any more
    notices: list[str]


def as_if_ended(digests: Sequence[Digest], budget_seconds: float) -> Shortened:
    """The digests of runs as if each had ended at `budget_seconds`.

    Only trials that ended by then count. Traces of runs with a longer budget are read again: what a digest
    keeps is of the whole run. Runs with a shorter one are as they are; one that goes on with a longer budget
    may have come that far. References are as they are: scores are scaled by what they came to. Left out are
    runs whose method plans with its budget: it would have tried something else.
    """
    methods = [one for one in digests if not is_reference(one)]
    planned = [one for one in methods if _is_long(one, budget_seconds) and one.header.get("knows_budget")]
    gone = set(map(id, planned))
    left = [one for one in digests if id(one) not in gone]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(partial(_shorter, budget_seconds=budget_seconds), left))
    found = [answer for answer in answers if isinstance(answer, Digest)]
    n_shorter = sum(answer is not one for answer, one in zip(answers, left, strict=True))
    return Shortened(
        found,
        [answer for answer in answers if isinstance(answer, str)],
        [*_told(n_shorter, len(methods), budget_seconds), *_planned(planned, budget_seconds)],
    )


def _is_long(one: Digest, budget_seconds: float) -> bool:
    """Whether its trace may hold more than a run with this budget has."""
    return one.budget_seconds > budget_seconds or (one.goes_on and one.budget_seconds != budget_seconds)


def _shorter(one: Digest, budget_seconds: float) -> Digest | str | None:
    if is_reference(one) or not _is_long(one, budget_seconds):
        return one
    path = Path(one.path)
    try:
        is_in_finished_part = one.goes_on and one.budget_seconds > budget_seconds
        found = finished_before(path) if is_in_finished_part else lines_of(path)
    except CfoBenchError as error:
        return str(error)
    if found is None:
        return None
    shorter = digest_of(path, shortened(found, budget_seconds))
    # A run that goes on, and has not come so far, stays one with the shorter budget that it had.
    return shorter if shorter.state is State.DONE or not one.goes_on else one


def _told(n_shorter: int, n_runs: int, budget_seconds: float) -> list[str]:
    if not n_shorter:
        return []
    has = "had a longer budget and is" if n_shorter == 1 else "had longer budgets and are"
    they = "it" if n_shorter == 1 else "they"
    return [
        f"{n_shorter} of {plural(n_runs, 'run')} {has} read as if {they} had ended at {budget_seconds:g} s"
    ]


def _planned(planned: Sequence[Digest], budget_seconds: float) -> list[str]:
    if not planned:
        return []
    return [
        f"{plural(len(planned), 'run')} left out: the method plans with its budget, so a run of "
        f"{planned[0].budget_seconds:g} s is not one of {budget_seconds:g} s at its beginning: "
        f"{run_names(planned)}"
    ]


# --- imported --------------------------------------------------------------------------------------


# Settings that an imported run is taken to share with the measured ones, where its source does not tell them.
_SETTINGS = ("n_folds", "threads", "parallel", "learner_options")
# What a difference in such settings would be called.
_IN_WORDS = {
    "budget_seconds": "budget",
    "n_folds": "folds",
    "threads": "threads",
    "learner_options": "options of the learner",
    "data": "data",
    "constant_loss": "loss of a constant prediction",
}


def is_imported(one: Digest) -> bool:
    return "imported" in one.header


def imported_clock(one: Digest) -> str:
    """What its times are: `wall`, `virtual`, `durations` or `trials`."""
    return str(one.header["imported"]["clock"])


def origin(one: Digest) -> str:
    """Where an imported run is from."""
    about = one.header["imported"]
    return f"imported from {about['format']} ({Path(about['source']).name}, SHA-256 {about['sha256'][:12]}…)"


def completed(digests: Sequence[Digest]) -> tuple[list[Digest], list[str]]:
    """All runs, the imported ones with what they lack; and lines about these."""
    groups: dict[tuple[str, str], list[Digest]] = {}
    for one in digests:
        groups.setdefault((one.learner, one.task), []).append(one)
    made: dict[str, Digest] = {}
    told: dict[tuple[str, str, tuple[str, ...]], list[list[Digest]]] = {}
    for group in groups.values():
        measured = [one for one in group if not is_imported(one)]
        imported = [one for one in group if is_imported(one)]
        by_method: dict[str, list[Digest]] = {}
        for one in imported:
            made[one.path] = _with_what_others_tell(one, measured, imported)
            by_method.setdefault(one.method, []).append(made[one.path])
        for method, own in by_method.items():
            about = method, own[0].learner, _remarks(own[0], bool(measured))
            told.setdefault(about, []).append(own)
    lines = [_line(by_task, remarks) for (_, _, remarks), by_task in told.items()]
    return [made.get(one.path, one) for one in digests], lines


def _with_what_others_tell(one: Digest, measured: Sequence[Digest], imported: Sequence[Digest]) -> Digest:
    unknown = set(one.header["imported"]["unknown"])
    if "budget_seconds" in unknown:
        # Beside measured methods it has their budget; by itself no trial of it is cut off.
        methods = [other for other in measured if not is_reference(other)]
        budget = _most(methods, lambda other: other.budget_seconds)
        one = _with_budget(one, budget or max(other.budget_seconds for other in imported))
    if "constant_loss" in unknown:
        known = [other for other in (*measured, *imported) if not lacks(other, "constant_loss")]
        same_fold = [other.constant_loss for other in known if other.fold == one.fold]
        constants = same_fold or [other.constant_loss for other in known]
        worst = max(other.constant_loss for other in imported)
        one = replace(one, constant_loss=fmean(constants) if constants else worst)
    if not measured:
        return one
    settings = {name: _setting(measured, name) for name in _SETTINGS if name in unknown}
    header = {**one.header, "spec": {**one.header["spec"], **settings}}
    if "data" in unknown:
        told = _most(measured, lambda other: other.header["data"].get("sha256"))
        recording = _most(measured, lambda other: other.header["data"].get("recording"))
        header["data"] = {**header["data"], "sha256": told, **({"recording": recording} if recording else {})}
    return replace(one, header=header)


_DEFAULTS: dict[str, Any] = {"n_folds": 10, "threads": 1, "parallel": 1, "learner_options": {}}


def _setting(measured: Sequence[Digest], name: str) -> Any:
    return _most(measured, lambda other: other.header["spec"].get(name, _DEFAULTS[name]))


def lacks(one: Digest, what: str) -> bool:
    """Whether the source of an imported run does not tell something."""
    return is_imported(one) and what in one.header["imported"]["unknown"]


def _most(runs: Iterable[Digest], of: Callable[[Digest], Any]) -> Any:
    """The most frequent value; None without a run."""
    values = [of(one) for one in runs]
    if not values:
        return None
    (text, _), *_ = Counter(map(repr, values)).most_common(1)
    return next(value for value in values if repr(value) == text)


def _with_budget(one: Digest, budget_seconds: float) -> Digest:
    """The run with another budget: what it found later does not count."""
    if budget_seconds == one.budget_seconds:
        return one
    path = Path(one.path)
    try:
        found = lines_of(path)
    except CfoBenchError:  # changed since it was read
        return one
    return one if found is None else digest_of(path, shortened(found, budget_seconds))


def _line(by_task: Sequence[Sequence[Digest]], remarks: Sequence[str]) -> str:
    """What a reader has to know of an imported method: the same on all these tasks, each with its runs."""
    one = by_task[0][0]
    sources = list(dict.fromkeys(origin(own[0]) for own in by_task))
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    tasks = some([own[0].task for own in by_task])
    came_to = _result(by_task[0]) if len(by_task) == 1 and imported_clock(one) != "wall" else []
    return "; ".join(
        [f"{one.method} on {tasks} with {one.learner} is {sources[0]}{more}", *remarks, *came_to]
    )


def _remarks(one: Digest, has_company: bool) -> tuple[str, ...]:
    assumed = [words for name, words in _IN_WORDS.items() if lacks(one, name)]
    parts = []
    if imported_clock(one) != "wall":
        parts.append(
            f"its times are not real seconds ({_CLOCKS.get(imported_clock(one), 'not known')}), so it is "
            "never compared with measured runs"
        )
    elif assumed and has_company:
        parts.append(
            f"its source does not tell its {', '.join(assumed)}: they are taken as those of the other runs"
        )
    elif assumed:
        parts.append(f"its source does not tell its {', '.join(assumed)}")
    if lacks(one, "method_seconds"):
        parts.append("what the method itself took is not known, and counts as idle or as training")
    return tuple(parts)


def _result(own: Sequence[Digest]) -> list[str]:
    """What it came to on a task: no table has it if it is not compared."""
    best = min((run.steps.losses[-1] for run in own if run.steps.losses), default=None)
    metric = own[0].metric
    score = "nothing" if best is None else f"{metric} {METRICS[metric].to_score(best):.5g}"
    return [f"it came to {score} in {max(run.trials for run in own)} trials"]


_CLOCKS = {
    "virtual": "a virtual clock",
    "durations": "those of its trials added up",
    "trials": "each trial counts as one second",
}
