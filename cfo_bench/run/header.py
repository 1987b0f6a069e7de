"""The header of a trace: everything needed to repeat the run and to trust it."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from cfo_bench.clock import utc_now
from cfo_bench.learners import LEARNERS
from cfo_bench.machine import facts as contention
from cfo_bench.optimizers import METHODS
from cfo_bench.optimizers.program import ProgramMethod
from cfo_bench.records import DataRef, Fold, Learner, Optimizer, RunSpec, TaskFacts
from cfo_bench.registry import Registry, code_file, default_options, is_users_code, label
from cfo_bench.results.comparability import data_identity
from cfo_bench.results.schema import SCHEMA_VERSION, Build, FoldData, Header, Machine, OwnCode, ProgramFacts
from cfo_bench.run.checks import metric_facts
from cfo_bench.run.job import Job
from cfo_bench.settings import DEFAULT_LEARNER, DEFAULT_SEED, Settings, settings_of
from cfo_bench.space import Config, Space
from cfo_bench.tasks.store import sha256


def header_of(
    job: Job,
    learner: Learner,
    fold: Fold,
    facts: TaskFacts,
    space: Space,
    start: Config,
    seed: int,
    method: Optimizer,
) -> Header:
    """The header of a run, after its data is loaded, and its learner and method are built with `seed`."""
    about = job.provenance
    return Header(
        schema=SCHEMA_VERSION,
        spec=job.spec,
        changed_options=_changed(job.spec.options, default_options(type(method))),
        knows_budget=bool(getattr(method, "knows_budget", False)),
        method_seed=seed,
        space=space.to_json(),
        start=start,
        program=ProgramFacts(**method.program_facts) if isinstance(method, ProgramMethod) else None,
        cost_related=list(learner.cost_related),
        problem=facts.problem,
        metric=facts.metric,
        metric_facts=metric_facts(job.spec, facts),
        constant_loss=fold.constant_loss,
        optimum=fold.recording.optimum if fold.recording else None,
        data=_data(fold, facts),
        own_code=own_code_of(job.spec),
        utc=utc_now(),
        command=reproducing_command(job.spec, job.given or job.data),
        cfo_bench=Build(**about["cfo_bench"]) if "cfo_bench" in about else None,
        python=about.get("python"),
        packages=about.get("packages"),
        machine=Machine(**{**about.get("machine", {}), **contention.at_start()}),
    )


def _data(fold: Fold, facts: TaskFacts) -> FoldData:
    """The facts of the data and of this fold; those of a recording are None for data to train on."""
    is_recorded = fold.recording is not None
    return FoldData(
        **{**msgspec.structs.asdict(data_identity(facts)), "source": facts.source},
        rows=facts.n_rows,
        features=facts.n_features,
        classes=facts.n_classes,
        train_rows=fold.n_rows,
        validation_rows=len(fold.valid_y),
        folds=facts.folds_source,
        test_rows=0 if fold.test_y is None else len(fold.test_y),
        recording=facts.recording if is_recorded else None,
        resource_rows=fold.recording.full_rows if fold.recording else msgspec.UNSET,
        paper_task=facts.paper_task if is_recorded else None,
    )


def own_code_of(spec: RunSpec) -> OwnCode | None:
    """The present SHA-256 of each local file that the run names; None if it names none."""
    hashes = {}
    for role in OwnCode.__struct_fields__:
        file = code_file(getattr(spec, role) or "")
        if file is not None and Path(file).is_file():
            hashes[role] = sha256(Path(file))
    return OwnCode(**hashes) if hashes else None


def method_seed(spec: RunSpec) -> int:
    """The seed of the method, which is different for each learner, task, fold and seed.

    With one seed for all tasks, a method would draw the same directions on each, and its results on
    several tasks would not be independent. A learner in a file is identified by its class, wherever the file
    is.
    """
    names = hashlib.sha256(f"{label(spec.learner)}\0{spec.task}".encode()).digest()
    return int(np.random.SeedSequence([spec.seed, spec.fold, *names]).generate_state(1)[0])


# --- the command that repeats a run ----------------------------------------------------------------

_DEFAULTS = {field.name: field.default for field in fields(RunSpec)}


def reproducing_command(spec: RunSpec, data: DataRef, *, import_files: bool = True) -> str:
    """The command that repeats this run, with the options that differ from their defaults.

    Without `import_files`, the user's own code is not loaded, and all of its options are written.
    """

    def defaults(registry: Registry, name: str) -> dict[str, Any]:
        return default_options(registry.load(name)) if import_files or not is_users_code(name) else {}

    given = replace(
        spec,
        options=_changed(spec.options, defaults(METHODS, spec.method)),
        learner_options=_changed(spec.learner_options, defaults(LEARNERS, spec.learner)),
    )
    return command_line(given, data)


def _changed(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The options that differ from their defaults, without `parallel`, which is a setting of the run."""
    return {
        key: value
        for key, value in options.items()
        if key != "parallel" and not (key in defaults and defaults[key] == value)
    }


def command_line(spec: RunSpec, data: DataRef) -> str:
    """The command with all options of the spec that differ from a default."""
    words = ["cfo-bench", "run"]
    if data.source == "file":
        words += ["--data", str(data.path), "--target", str(data.target)]
        words += ["--problem", str(data.problem)] if data.problem else []
        words += [word for name in data.drop for word in ("--drop", name)]
        words += ["--drop-missing-target"] if data.drop_missing_target else []
        words += ["--split", data.split] if data.split else []
        words += ["--weight", data.weight] if data.weight else []
    else:
        words += ["--task", spec.task]
    words += ["--method", spec.method, *(["--name", spec.variant] if spec.variant else [])]
    words += ["--budget", _word(spec.budget_seconds), "--folds", str(spec.fold)]
    if spec.learner != DEFAULT_LEARNER:
        words += ["--learner", spec.learner]
    if spec.seed != DEFAULT_SEED:
        words += ["--seed", str(spec.seed)]
    for setting in settings_of(Settings):
        value = getattr(spec, setting.name)
        # Without --n-folds, a task with official folds would be run on those.
        is_needed = value != _DEFAULTS[setting.name] or (setting.name == "n_folds" and data.origins)
        if is_needed and setting.name != "budget_seconds":
            words += [setting.flags[-1]] if value is True else [setting.flags[-1], _word(value)]
    words += _options("--option", spec.options)
    surrogate = data.path if data.source == "surrogate" else None  # --surrogate gives it to the learner
    words += _options(
        "--learner-option", {key: value for key, value in spec.learner_options.items() if value != surrogate}
    )
    if data.folder is not None:
        words += ["--data-dir", data.folder]
    if data.table is not None:
        words += ["--tasks", data.table]
    if data.source == "yahpo" and data.path is not None:
        words += ["--yahpo", data.path]
    if surrogate is not None:
        words += ["--surrogate", surrogate]
    return shlex.join(words)


def _word(value: object) -> str:
    """A value on the command line; a float with exactly the digits needed to read the same number."""
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _options(flag: str, options: Mapping[str, Any]) -> Iterable[str]:
    for key, value in options.items():
        is_nested = value is None or isinstance(value, list | Mapping)
        yield from (flag, f"{key}={msgspec.json.encode(value).decode() if is_nested else value}")
