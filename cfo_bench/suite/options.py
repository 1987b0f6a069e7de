"""The options of each method and learner of a suite: those that were given, checked, over the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cfo_bench import tasks
from cfo_bench.errors import OptionError, UnknownNameError, UserError, told_at
from cfo_bench.learners import LEARNERS
from cfo_bench.optimizers import METHODS
from cfo_bench.recordings.surrogate_file import SurrogateFile, read
from cfo_bench.records import DataRef, Problem
from cfo_bench.registry import Registry, family_of, is_in_file, is_users_code, label
from cfo_bench.suite.model import DEFAULTS, Choice, Pick, Suite

# --- options ---------------------------------------------------------------------------------------


def method_options(
    choices: Sequence[Choice], given: Mapping[str, Any], parallel: int, *, import_files: bool = True
) -> list[Choice]:
    """Each method with all its options.

    An option that is `given` replaces that of the choice, which replaces the method's default. `name.key`
    gives an option to one method or variant, `key` to all of them. Without `import_files`, a method of a
    local file or program has the options that it is given, unchecked.
    """
    choices = [_checked_variant(choice) for choice in choices]
    for choice in choices:
        for key in choice.options:
            with told_at(choice.places.get(key, "")):
                _refuse_reserved(key)
    for key in given:
        _refuse_reserved(key.rpartition(".")[2])
    found = []
    for choice, options in _each(METHODS, choices, given, import_files):
        if not import_files and is_users_code(choice.name):
            pass  # whether it takes several trials at a time is not known
        elif "parallel" in options:
            options["parallel"] = parallel
        elif parallel > 1:
            with told_at(choice.place):
                raise OptionError(
                    f"--parallel {parallel}: method {choice.name!r} takes one trial at a time; leave it out"
                )
        found.append(replace(choice, options=options))
    return found


def learner_options(
    choices: Sequence[Choice], given: Mapping[str, Any], *, import_files: bool = True
) -> list[Choice]:
    """The same for learners."""
    each = _each(LEARNERS, choices, given, import_files)
    return [replace(choice, options=options) for choice, options in each]


def _checked_variant(choice: Choice) -> Choice:
    """A variant must not be taken for another method. One that is called like its method is no variant."""
    variant = choice.variant
    if variant == replace(choice, variant="").label:
        return replace(choice, variant="")
    with told_at(choice.place):
        is_family = family_of(variant) in METHODS.families and not variant.startswith(f"{choice.name}@")
        if variant in METHODS.rows() or is_family:
            raise UserError(f"{variant!r} is the name of another method: call this {choice.name} otherwise")
        if variant and (row := METHODS.row(choice.name)).learner is not None:
            raise UserError(
                f"{variant!r}: {choice.name} is a reference that scores are scaled by, and has no variants "
                f"({row.summary}): leave out its name"
            )
    return choice


# The options of a method that a run sets, each with what it is set to.
_SET_BY_THE_RUN = {
    "parallel": "the number of trials at once is given by --parallel",
    "n_rows": "it is the number of training rows of each fold; leave it out",
    "cost_related": "it is the learner's hyperparameters that decide the cost; leave it out",
    "budget_seconds": "it is the budget of the run, given by --budget; leave it out",
}


def _refuse_reserved(key: str) -> None:
    if key in _SET_BY_THE_RUN:
        raise OptionError(f"option {key!r}: {_SET_BY_THE_RUN[key]}")


def _each(
    registry: Registry, choices: Sequence[Choice], given: Mapping[str, Any], import_files: bool
) -> list[tuple[Choice, dict[str, Any]]]:
    """A choice that is made twice counts once; two that would share a folder of traces are an error."""
    kind = registry.kind
    chosen = list(
        {(choice.name, repr(choice.options), choice.variant): choice for choice in choices}.values()
    )
    labels = [choice.label for choice in chosen]
    remedy = (
        "give it a name of its own, as in name: my-{} in a suite file or --name my-{}"
        if registry is METHODS
        else "rename the class, or use two commands with a --results each"
    )
    for choice, short in zip(chosen, labels, strict=True):
        if labels.count(short) > 1:
            with told_at(choice.place):
                raise UserError(
                    f"{kind} {choice.name!r} is not the only one called {short!r}, and traces go by that "
                    f"name: {remedy.replace('{}', short)}"
                )
    strangers = {key.rpartition(".")[0] for key in given if "." in key} - set(labels)
    if strangers:
        raise OptionError(
            f"options for {', '.join(sorted(strangers))}, which is not among the {kind}s {', '.join(labels)}"
        )
    return [
        (choice, _options_of(registry, choice, given, len(chosen) > 1))
        if import_files or not is_users_code(choice.name)
        else (choice, _unchecked_options(registry, choice, given))
        for choice in chosen
    ]


def _options_of(
    registry: Registry, choice: Choice, given: Mapping[str, Any], is_one_of_many: bool
) -> dict[str, Any]:
    name = choice.name
    with told_at(choice.place):
        registry.options(name, {})
    for key, value in choice.options.items():
        with told_at(choice.places.get(key, "")):
            registry.options(name, {key: value})
    try:
        return registry.options(name, {**choice.options, **_given_to(choice, given)})
    except OptionError as error:
        flag = "--option METHOD" if registry is METHODS else "--learner-option LEARNER"
        hint = f" (for one {registry.kind} only: {flag}.KEY=VALUE)" if is_one_of_many else ""
        raise OptionError(f"{error}{hint}") from None


def _unchecked_options(registry: Registry, choice: Choice, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of a class in a local file that must not be imported, or of a program that must not be started."""
    with told_at(choice.place):
        registry.check_users_code(choice.name)
    return {**choice.options, **_given_to(choice, given)}


def _given_to(choice: Choice, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key.rpartition(".")[2]: value
        for key, value in given.items()
        if key.rpartition(".")[0] in ("", choice.label)
    }


# --- surrogate -------------------------------------------------------------------------------------
# A suite on a surrogate: each learner is replaced by what stands for it, and no task needs its data.


FAMILY = "surrogate"


@dataclass(frozen=True, slots=True)
class OnSurrogate:
    """A suite whose learners are surrogates, and its tasks."""

    suite: Suite
    data: dict[str, DataRef]
    left_out: tuple[str, ...]  # reference methods: they train on data, which there is none of


def on_surrogate(suite: Suite, path: Path, offline: bool) -> OnSurrogate:
    """The same suite on the surrogates of a file. Without tasks, it takes all that the file has."""
    file = read(path)
    learners = tuple(_standing_for(choice, file) for choice in _chosen(suite, file))
    names = [choice.name.partition(":")[2] for choice in learners]
    known = [task for task in file.tasks(names[0]) if all(task in file.tasks(name) for name in names)]
    picked = [task for pick in suite.tasks for task in _picked(pick, known, names, suite, offline)]
    excluded = {task for pick in suite.exclude for task in _named(pick, known, suite, offline)}
    found = [task for task in dict.fromkeys(picked if suite.tasks else known) if task not in excluded]
    if not found:
        raise UserError(
            f"no task is left: the surrogate {path} has {', '.join(known) or 'none'} for {', '.join(names)}"
        )
    kept = tuple(choice for choice in suite.methods if not _is_reference(choice))
    if not kept:
        raise UserError("all methods of the suite train on data, and a surrogate has none: give --method")
    return OnSurrogate(
        replace(suite, learners=learners, methods=kept),
        {task: _ref(file, names[0], task) for task in found},
        tuple(choice.name for choice in suite.methods if _is_reference(choice)),
    )


def _chosen(suite: Suite, file: SurrogateFile) -> Sequence[Choice]:
    """The learners of the suite; where it names none, all of the file."""
    return suite.learners if suite.learners != DEFAULTS.learners else [Choice(one) for one in file.learners]


def _standing_for(choice: Choice, file: SurrogateFile) -> Choice:
    name = label(choice.name).removeprefix(f"{FAMILY}:")
    with told_at(choice.place):
        if name not in file.learners:
            raise UnknownNameError(f"learner of the surrogate {file.path}", name, file.learners)
        _check_options(name, choice.options, file)
    return Choice(f"{FAMILY}:{name}", {"surrogate_file": file.path}, places=choice.places)


def _check_options(name: str, options: Mapping[str, Any], file: SurrogateFile) -> None:
    recorded = file.of(name, file.tasks(name)[0]).learner_options
    for key, value in options.items():
        if key in recorded and recorded[key] != value:
            raise UserError(
                f"option {key} of learner {name!r} is {value!r}, and {recorded[key]!r} in the traces of the "
                f"surrogate {file.path}: leave it out"
            )


def _picked(
    pick: Pick, known: Sequence[str], learners: Sequence[str], suite: Suite, offline: bool
) -> list[str]:
    with told_at(pick.place):
        found = _named(pick, known, suite, offline)
        if not found:
            what = pick.word or " ".join(pick.tags)
            raise UnknownNameError(f"task of the surrogate for {', '.join(learners)}", what, known)
        return found


def _named(pick: Pick, known: Sequence[str], suite: Suite, offline: bool) -> list[str]:
    """The tasks of the surrogate that a name, a pattern or a tag means."""
    if not pick.tags:
        alike = [task for task in known if _folded(task) == _folded(pick.word)]
        if pick.word in known or len(alike) == 1:
            return [pick.word] if pick.word in known else alike
        if set("*?[") & set(pick.word):
            return [task for task in known if fnmatchcase(task.casefold(), pick.word.casefold())]
    try:
        refs = (
            tasks.tagged(pick.tags, suite.data_dir, suite.task_tables, offline)
            if pick.tags
            else tasks.select(pick.word, suite.data_dir, suite.task_tables, offline)
        )
    except UserError:
        return []
    return [ref.task for ref in refs if ref.task in known]


def _folded(name: str) -> str:
    return name.casefold().replace("_", "-")


def _is_reference(choice: Choice) -> bool:
    return not is_in_file(choice.name) and METHODS.row(choice.name).learner is not None


def _ref(file: SurrogateFile, learner: str, task: str) -> DataRef:
    one = file.of(learner, task)
    return DataRef(task, FAMILY, file.path, problem=Problem(one.problem), recorded_folds=one.n_folds)
