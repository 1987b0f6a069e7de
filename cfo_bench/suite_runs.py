"""The runs that a suite becomes. `suite_execution` runs what is missing of them.

`cfo-bench run` is a skin over these two. Nothing is printed: what happens is handed to a callback.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfo_bench.engines import Engine, engine_of
from cfo_bench.errors import UserError
from cfo_bench.recordings import yahpo_folder
from cfo_bench.records import DataRef, RunSpec
from cfo_bench.registry import is_in_file, is_users_code
from cfo_bench.results import trace
from cfo_bench.results.standing import found_at, in_words, refuse_other_limits
from cfo_bench.run.header import reproducing_command
from cfo_bench.run.inspection import MethodTraits, fetch_task, rehearse
from cfo_bench.run_id import method_label
from cfo_bench.suite.expansion import data_of, narrowed, specs_of, tasks_of
from cfo_bench.suite.file import find, read
from cfo_bench.suite.model import Suite
from cfo_bench.suite.options import learner_options as options_of_learners
from cfo_bench.suite.options import method_options as options_of_methods
from cfo_bench.suite.surrogate import on_surrogate
from cfo_bench.suite_events import Note, OnEvent, ignore, while_preparing
from cfo_bench.tasks import is_stored


@dataclass(frozen=True, slots=True)
class SuiteRuns:
    """The runs that a suite becomes, in the order in which they are listed, and where their data is."""

    suite: Suite
    specs: Sequence[RunSpec]
    data: Mapping[str, DataRef]
    engine: Engine | None  # None: it is in a local file that was not imported
    # False: the runs can be looked at, but not run: no local file was imported, and no option of one checked.
    import_files: bool = True

    @property
    def without_data(self) -> list[str]:
        """The tasks whose data is not on this machine yet: their official folds are not known either."""
        return [task for task, ref in self.data.items() if ref.origins and not is_stored(ref)]

    def commands(self) -> list[str]:
        """The command that does each run, into the same results folder."""
        results = shlex.quote(str(self.suite.results))
        return [
            f"{reproducing_command(spec, self.data[spec.task], import_files=self.import_files)} "
            f"--results {results}"
            for spec in self.specs
        ]

    def there_before(self, traits: MethodTraits) -> str:
        """What the results folder has of these runs, in words; "" for nothing.

        A UserError where a run is there with other limits, and can't go on with these.
        """
        results = self.suite.results
        found = [found_at(trace.path_of(results, spec)) for spec in self.specs]
        refuse_other_limits(self.specs, found, results, traits.not_resumable, traits.knows_budget)
        return in_words(self.specs, found)

    def price(self) -> str:
        """What all runs take of time, cores and memory, in words."""
        if self.engine is None:
            runs = f"{len(self.specs)} run{'s' * (len(self.specs) != 1)}"
            return f"{runs}; what they take is known to the engine {self.suite.engine} only"
        return self.engine.price(self.specs)

    def check(self) -> MethodTraits:
        """Builds every learner and method once, so that a mistake is an error before anything starts."""
        if self.engine is not None:
            self.engine.check()
        each = {(spec.learner, method_label(spec)): spec for spec in self.specs}
        return rehearse(
            [
                spec
                for spec in each.values()
                if self.import_files or not any(map(is_users_code, (spec.learner, spec.method)))
            ],
            {choice.label: choice.place for choice in self.suite.methods},
        )


def runs_of(
    suite: Suite | str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    learner_options: Mapping[str, Any] | None = None,
    only: Sequence[str] = (),
    shard: tuple[int, int] | None = None,
    offline: bool = False,
    fetch: bool = True,
    import_files: bool = True,
    on_event: OnEvent = ignore,
) -> SuiteRuns:
    """Every run of a suite, without running any.

    suite            a `Suite`, the path of its file, or the name of one that comes with the package
    options          for all methods that have them, or as `name.key` for one
    learner_options  the same for learners
    only             take only the runs with these ids
    shard            (k, n) takes every n-th run from the k-th on
    offline          never use the network
    fetch            fetch data that is not on this machine: only then are a task's official folds known
    import_files     False: import no local file that the suite names (`mine.py:Mine`), and start no program
                     (`exec:…`). Such runs can be looked at, but not run
    on_event         is told when data is fetched
    returns          the runs, with what they take
    """
    if not isinstance(suite, Suite):
        suite = read(find(str(suite)))
    _check_is_complete(suite)
    yahpo_folder.use(suite.yahpo)
    if suite.surrogate is not None:
        suite, data = _on_surrogate(suite, suite.surrogate, offline, on_event)
    else:
        data = data_of(suite, offline)
    methods = options_of_methods(suite.methods, options or {}, suite.parallel, import_files=import_files)
    learners = options_of_learners(suite.learners, learner_options or {}, import_files=import_files)
    if only:
        wanted = tasks_of(only, specs_of(suite, learners, methods, data, import_files=import_files))
        data = {task: ref for task, ref in data.items() if task in wanted}
    if fetch:
        for task, ref in data.items():
            if ref.origins and not is_stored(ref):
                with while_preparing(task, on_event):
                    fetch_task(ref)
    specs = narrowed(specs_of(suite, learners, methods, data, import_files=import_files), only, shard)
    engine = engine_of(suite) if import_files or not is_in_file(suite.engine) else None
    return SuiteRuns(suite, specs, data, engine, import_files)


def _on_surrogate(
    suite: Suite, path: Path, offline: bool, on_event: OnEvent
) -> tuple[Suite, dict[str, DataRef]]:
    if suite.data_file is not None:
        raise UserError(
            f"--data {suite.data_file} is to train on, and --surrogate {path} trains on nothing: "
            "leave one out"
        )
    found = on_surrogate(suite, path, offline)
    if found.left_out:
        on_event(
            Note(f"left out, since a surrogate has no data to train on: {', '.join(found.left_out)}", True)
        )
    return found.suite, found.data


def _check_is_complete(suite: Suite) -> None:
    for name, what in (("methods", "methods to compare"), ("budget_seconds", "a budget for each run")):
        if not getattr(suite, name):
            raise UserError(f"the suite has no {name}: give it {what}")
