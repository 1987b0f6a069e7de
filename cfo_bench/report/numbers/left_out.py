"""What is not compared, or counts as failed: one line for each reason, with numbers."""

from __future__ import annotations

from collections.abc import Sequence

from cfo_bench.report.contents import plural, some
from cfo_bench.report.numbers.joint_ranking import Joint
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.numbers.significance import in_words


def left_out(scores: Sequence[TaskScores], both: Joint) -> list[str]:
    """Of the tasks of one learner and their joint ranking."""
    return [*_runs(scores), *_ranks(scores, both), *_failures(scores)]


def _runs(scores: Sequence[TaskScores]) -> list[str]:
    lines = []
    runs = sum(found.runs for task in scores for found in task.methods.values())
    kept = sum(len(task.shared) * len(task.compared) for task in scores if len(task.compared) > 1)
    if kept < runs and any(len(task.methods) > 1 for task in scores):
        lines.append(
            f"{kept} of {plural(runs, 'run')} are compared: those on folds and seeds that all compared "
            "methods of the task have"
        )
    apart = [task.task for task in scores if len(task.methods) > 1 and len(task.compared) < 2]
    if apart:
        lines.append(f"nothing is compared where no fold and seed has enough methods: {some(apart)}")
    short = [
        f"{found.method} on {task.task} ({found.runs} of {max(one.runs for one in task.methods.values())})"
        for task in scores
        for found in task.methods.values()
        if not found.is_compared and len(task.compared) > 1
    ]
    if short:
        lines.append(f"left out, as they share too few runs with the other methods: {some(short)}")
    return lines


def _ranks(scores: Sequence[TaskScores], both: Joint) -> list[str]:
    if not both.tasks or (not both.left_out and len(both.tasks) == len(scores)):
        return []
    methods = len(both.methods) + len(both.left_out)
    names = f" (without {in_words(both.left_out)})" if both.left_out else ""
    missing = [task.task for task in scores if task not in both.tasks]
    where = f" (without {some(missing)})" if missing else ""
    return [
        f"ranks are over {len(both.methods)} of {plural(methods, 'method')}{names} and "
        f"{len(both.tasks)} of {plural(len(scores), 'task')}{where}"
    ]


def _failures(scores: Sequence[TaskScores]) -> list[str]:
    lines = []
    every = [(task, found) for task in scores for found in task.methods.values()]
    failed = [f"{one.method} on {task.task}" for task, one in every if one.has_failed]
    if failed:
        lines.append(f"no run has a result, so it ranks last there: {some(failed)}")
    imputed = [
        f"{one.method} on {task.task} ({one.imputed} of {len(task.shared)})"
        for task, one in every
        if one.imputed
    ]
    if imputed:
        lines.append(
            "runs without a result count as the constant predictor or the worst other method, whichever is "
            "worse: " + some(imputed)
        )
    useless = [task.task for task in scores if task.leaders and not task.beats_constant]
    if useless:
        lines.append(f"nobody beats the constant predictor, so nobody wins: {some(useless)}")
    return lines
