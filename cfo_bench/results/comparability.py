"""Whether two runs may be compared, and whether a run may be resumed. Only this module decides it.

Each setting declares what it affects (`settings.setting(affects=…)`), and so does each fact in the header of
a trace (`schema.described(…, affects=…)`). `comparable` and `resumable` follow from these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
from msgspec import UNSET

from cfo_bench.errors import OtherRunError
from cfo_bench.metrics import METRIC_OF, canonical_name
from cfo_bench.records import RunSpec, TaskFacts
from cfo_bench.registry import code_file, label
from cfo_bench.results.run import Run
from cfo_bench.results.schema import ARCHIVE, DataIdentity, FoldData, Header, OwnCode
from cfo_bench.settings import Affects

# The limits of a run: it may be resumed with others, but copies of one run have the same.
LIMITS = ("budget_seconds", "max_trials")

# Facts that messages shorten to their first characters.
_HASHES = ("data.sha256", "own_code.metric")

# Options that do not change the result of a run. The content of a surrogate's file is compared as its data.
_OPTIONS_WITHOUT_EFFECT = ("answer_timeout_seconds", "surrogate_file")


@dataclass(frozen=True, slots=True)
class Aspect:
    """A setting or a fact in which two runs may have to agree."""

    name: str  # the setting, or the fact of the header
    plural: str  # its name in a warning about runs that differ in it
    affects: Affects
    of: Callable[[Header], Any]  # UNSET: the header does not state it

    def differs(self, headers: Iterable[Header]) -> bool:
        """Whether two of the headers state different values."""
        return len({self.of(header) for header in headers} - {UNSET}) > 1


@dataclass(frozen=True, slots=True)
class Difference:
    """An aspect in which two runs differ, with both values as text."""

    name: str
    first: str
    second: str


def aspects(spec_type: type = RunSpec) -> list[Aspect]:
    """Everything that affects comparison or resumption, in the order in which it is declared."""
    settings = [
        Aspect(
            field.name,
            field.metadata["plural"] or field.name,
            field.metadata["affects"],
            _of_spec(field.name),
        )
        for field in fields(spec_type)
        if field.metadata.get("affects")
    ]
    return [*settings, *_facts(Header, ""), *_facts(FoldData, "data"), *_facts(OwnCode, "own_code")]


def _of_spec(name: str) -> Callable[[Header], Any]:
    special = {"holdout_share": _holdout_share, "clock": _clock, "learner_options": _learner_options}
    return special.get(name, lambda header: getattr(header.spec, name))


def _facts(record: type[msgspec.Struct], part: str) -> list[Aspect]:
    """The facts of a header, or of this part of it, that affect anything."""
    hints = get_type_hints(record, include_extras=True)
    facts = []
    for name in record.__struct_fields__:
        for meta in getattr(hints[name], "__metadata__", ()):
            extra = meta.extra or {}
            if extra.get("affects"):
                of = _of_part(part, name) if part else _of_header(name)
                full_name = f"{part}.{name}" if part else name
                facts.append(Aspect(full_name, extra["plural"] or name, extra["affects"], of))
    return facts


def _of_header(name: str) -> Callable[[Header], Any]:
    return lambda header: getattr(header, name)


def _of_part(part: str, name: str) -> Callable[[Header], Any]:
    """A header without the part does not state its facts."""
    return lambda header: getattr(getattr(header, part), name, UNSET)


def _holdout_share(header: Header) -> float | None:
    return header.spec.holdout_share if header.spec.validation == "holdout" else None


def _clock(header: Header) -> str:
    """Times of an imported run that are not known to be real seconds are on a clock of their own."""
    if header.imported is None or header.imported.format == ARCHIVE or header.spec.clock == "wall":
        return header.spec.clock
    return f"imported ({header.imported.clock})"


def _learner_options(header: Header) -> str:
    return _as_text(header.spec.learner_options)


def method_options(header: Header) -> str:
    """The method with its options: two variants of one name may be of different methods."""
    spec = header.spec
    options = _as_text(spec.options)
    return f"{label(spec.method)} {options}" if spec.variant else options


def _as_text(options: Mapping[str, Any]) -> str:
    return msgspec.json.encode(dict(options), order="sorted").decode()


# --- comparison -----------------------------------------------------------------------------------


def comparison_aspects(spec_type: type = RunSpec) -> list[Aspect]:
    """What all runs of a learner on a task must have in common to be compared."""
    return [aspect for aspect in aspects(spec_type) if Affects.COMPARISON in aspect.affects]


def comparable(first: Run, second: Run, ignoring: Collection[str] = ()) -> list[Difference]:
    """Why two runs of a learner on a task may not be compared; empty if they may be.

    The budget of a reference does not matter. Options of a method matter between its own runs only.

    ignoring  names of settings that may differ
    """
    skipped = {*ignoring, *(("budget_seconds",) if first.is_reference or second.is_reference else ())}
    differences = [
        Difference(aspect.name, shown(aspect.of(first.header)), shown(aspect.of(second.header)))
        for aspect in comparison_aspects(type(first.spec))
        if aspect.name not in skipped and aspect.differs((first.header, second.header))
    ]
    options = method_options(first.header), method_options(second.header)
    if first.method == second.method and options[0] != options[1]:
        differences.append(Difference(f"options of {first.method}", *options))
    return differences


def same_task(header: Header) -> tuple[tuple[str, str], ...]:
    """The facts that all runs of a task with one seed have in common: its data, folds and metric.

    A folder whose runs of the task differ in these facts is a mixture. Unknown facts are left out.
    """
    names = {
        "data.sha256": "data",
        "data.folds": "folds",
        "metric": "metric",
        "own_code.metric": "metric file",
    }
    facts = {aspect.name: aspect.of(header) for aspect in aspects(type(header.spec)) if aspect.name in names}
    known = {key: str(facts[key]) for key in names if facts[key] is not UNSET}
    return tuple((names[key], f"{value[:12]}…" if key in _HASHES else value) for key, value in known.items())


def shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# --- resumption -----------------------------------------------------------------------------------


def data_identity(facts: TaskFacts) -> DataIdentity:
    """The facts that identify the data of a task."""
    return DataIdentity(
        sha256=facts.sha256,
        target=facts.target,
        problem=facts.problem,
        dropped_columns=list(facts.dropped),
        dropped_rows=facts.dropped_rows,
        split=facts.split,
        weight=facts.weight,
        target_encoded=facts.target_encoded,
    )


def resumable(
    past: Header, spec: RunSpec, data: DataIdentity | None = None, own_code: OwnCode | None = None
) -> list[Difference]:
    """Why the run of a trace is not the requested one; empty if the trace may be resumed.

    Different limits do not matter: a run may be resumed with others. `data` and `own_code` are None if they
    are not known.
    """
    differences = [*_spec_differences(past.spec, spec), *_metric_differences(past, spec)]
    if past.imported is not None:
        differences.append(Difference("origin", _origin(past), "a run"))
    differences = differences or ([] if data is None else data_differences(past.data, data))
    return differences or code_differences(spec, past.own_code, own_code)


def same_run(first: Header, second: Header) -> list[Difference]:
    """Why two traces are not copies of one run; empty if they are."""
    differences = _spec_differences(first.spec, second.spec, also=LIMITS)
    if first.metric != second.metric:
        differences.append(Difference("metric", first.metric, second.metric))
    if _origin(first) != _origin(second):
        differences.append(Difference("origin", _origin(first), _origin(second)))
    differences = differences or data_differences(first.data, second.data)
    return differences or code_differences(second.spec, first.own_code, second.own_code)


def _origin(header: Header) -> str:
    return "a run" if header.imported is None else f"imported {header.imported.sha256[:12]}…"


def check_resumable(
    path: Path,
    past: Header,
    spec: RunSpec,
    data: DataIdentity | None = None,
    own_code: OwnCode | None = None,
) -> None:
    """An OtherRunError if the trace belongs to another run."""
    if differences := resumable(past, spec, data, own_code):
        raise of_another_run(path, differences)


def of_another_run(path: Path, differences: Sequence[Difference], remark: str = "") -> OtherRunError:
    """The error for a trace that belongs to another run; the `remark` follows the differences."""
    listed = "; ".join(
        f"{difference.name} {difference.first} there, {difference.second} here" for difference in differences
    )
    return OtherRunError(f"{path} belongs to another run ({listed}){remark}")


def _spec_differences(first: RunSpec, second: RunSpec, also: Sequence[str] = ()) -> list[Difference]:
    """The settings and options that differ. A setting that an older version did not know has its default."""
    names = [
        field.name
        for field in fields(second)
        if Affects.RESUME in field.metadata.get("affects", Affects.NOTHING) or field.name in also
    ]
    defaults = {field.name: field.default for field in fields(second) if field.default is not MISSING}
    old, new = (
        {name: getattr(spec, name, defaults.get(name)) for name in names} | _options(spec)
        for spec in (first, second)
    )
    return [
        Difference(name, *_in_words(old.get(name), new.get(name)))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]


def _in_words(old: object, new: object) -> tuple[str, str]:
    """Two different values; of two lists, such as search spaces, only the items that the other lacks."""
    if isinstance(old, list) and isinstance(new, list):
        removed = [item for item in old if item not in new]
        added = [item for item in new if item not in old]
        if removed or added:  # else only the order differs
            old, new = removed, added
    return repr(old), repr(new)


def _metric_differences(past: Header, spec: RunSpec) -> list[Difference]:
    """The metric, if this spec leads to another one. The metric of a recording follows from its data."""
    default = past.metric if past.data.recording else METRIC_OF[past.problem]
    metric = canonical_name(getattr(spec, "metric", None) or default)
    return [] if metric == past.metric else [Difference("metric", past.metric, metric)]


def _options(spec: RunSpec) -> dict[str, Any]:
    """Each option of the method and the learner by its own name."""
    return {
        f"option {key}": value
        for options in (spec.options, spec.learner_options)
        for key, value in options.items()
        if key not in _OPTIONS_WITHOUT_EFFECT
    }


def data_differences(first: DataIdentity, second: DataIdentity) -> list[Difference]:
    """The facts in which the data of two runs differ. A fact that one of them does not state counts as equal.

    The hash depends on the target, the problem, what was dropped and the columns of split and weight, and is
    named only if these are equal. A trace that does not state `split`, `weight` or `target_encoded` has none.
    """
    differences = _differing(first, second, "target", "problem", "dropped_columns", "dropped_rows")
    differences += [
        Difference(name, repr(getattr(first, name)), repr(getattr(second, name)))
        for name in ("split", "weight", "target_encoded")
        if getattr(first, name) != getattr(second, name)
    ]
    if differences:
        return differences
    if first.sha256 and second.sha256 and first.sha256 != second.sha256:
        return [Difference("data", f"{first.sha256[:12]}…", f"{second.sha256[:12]}…")]
    return _differing(first, second, "folds")


def code_differences(spec: RunSpec, first: OwnCode | None, second: OwnCode | None) -> list[Difference]:
    """The local files of a run whose content differs. Unknown content counts as equal."""
    differences: dict[Difference, None] = {}  # each once: one file may be the metric and the learner
    for role in OwnCode.__struct_fields__:
        old, new = (getattr(code, role, UNSET) for code in (first, second))
        if isinstance(old, str) and isinstance(new, str) and old != new:
            name = getattr(spec, role)
            differences[Difference(f"file {code_file(name) or name}", f"{old[:12]}…", f"{new[:12]}…")] = None
    return list(differences)


def _differing(first: DataIdentity, second: DataIdentity, *names: str) -> list[Difference]:
    pairs = ((name, getattr(first, name, None), getattr(second, name, None)) for name in names)
    return [
        Difference(name, repr(_plain(old)), repr(_plain(new)))
        for name, old, new in pairs
        if old is not None and new is not None and old != new
    ]


def _plain(value: object) -> object:
    return str(value) if isinstance(value, str) else value
