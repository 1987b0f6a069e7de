"""Where the user's copy of YAHPO Gym's data is, and which scenarios and instances it has; nothing heavy.

The copy is a clone of slds-lmu/yahpo_data: a folder for each scenario with `config_space.json`,
`encoding.json` and `model.onnx`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from cfo_bench.errors import UserError
from cfo_bench.recordings.yahpo_data_sets import DataSetFacts, data_set
from cfo_bench.recordings.yahpo_scenarios import LossFacts, ScenarioFacts
from cfo_bench.recordings.yahpo_statement import facts_of, read_json
from cfo_bench.records import DataRef

ENVIRONMENT = "CFO_BENCH_YAHPO"
SETTINGS_FILE = Path("~/.config/yahpo_gym")  # YAHPO's own, with the key data_path
HOW_TO_GET = (
    "git clone https://github.com/slds-lmu/yahpo_data, and name the folder by --yahpo DIR "
    f"or {ENVIRONMENT}=DIR"
)
SPACE, ENCODING, MODEL = "config_space.json", "encoding.json", "model.onnx"
CLONE_AGAIN = "clone yahpo_data again"
ABSENT = "#na#"  # the code of a category that is not used
# The surrogate is of the mean over YAHPO's own folds. Ten folds that are alike: only the method's seed
# differs, so that there are ten runs to take means over.
N_FOLDS = 10


def use(folder: Path | None) -> None:
    """The folder that `--yahpo` names is that of this process and of all that it starts."""
    if folder is not None:
        os.environ[ENVIRONMENT] = str(_checked(folder, "--yahpo"))


def find(folder: Path | None = None) -> Path | None:
    """The user's copy: the folder given, the environment's, or that of YAHPO's settings; None: no copy."""
    if folder is not None:
        return _checked(folder, "--yahpo")
    named = os.environ.get(ENVIRONMENT, "")
    if named:
        return _checked(Path(named), ENVIRONMENT)
    return _in_settings()


def existing(what: str, folder: Path | None = None) -> Path:
    found = find(folder)
    if found is None:
        raise UserError(f"{what} needs a copy of YAHPO Gym's data, and there is none: {HOW_TO_GET}")
    return found


def _checked(folder: Path, flag: str) -> Path:
    folder = Path(os.path.expanduser(folder)).resolve()
    if not folder.is_dir():
        raise UserError(f"no folder {str(folder)!r}: {flag} names a copy of YAHPO Gym's data; {HOW_TO_GET}")
    if not scenarios(folder):
        raise UserError(f"{str(folder)!r} has no scenario of YAHPO Gym's ({flag}): {HOW_TO_GET}")
    return folder


def _in_settings() -> Path | None:
    try:
        text = SETTINGS_FILE.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, RuntimeError):
        return None
    import yaml

    try:
        settings = yaml.safe_load(text)
    except yaml.YAMLError:
        return None
    named = settings.get("data_path") if isinstance(settings, dict) else None
    if not isinstance(named, str) or not named:
        return None
    folder = Path(os.path.expanduser(named))
    # A stale entry of another program's settings is no mistake of this command.
    return folder.resolve() if folder.is_dir() and scenarios(folder) else None


def scenarios(folder: Path) -> list[str]:
    """The scenarios of a copy that have all their files."""
    return sorted(
        one.name
        for one in folder.iterdir()
        if all((one / name).is_file() for name in (SPACE, ENCODING, MODEL))
    )


def unknown_scenarios(folder: Path) -> list[str]:
    """Those that cfo-bench does not know, and that the user has not stated."""
    return [name for name in scenarios(folder) if facts_of(folder / name) is None]


def instances_of(facts: ScenarioFacts, codes: Mapping[str, Mapping[str, int]]) -> tuple[str, ...]:
    """The instances of a scenario, whose `encoding.json` has these codes."""
    if facts.instance is None:
        return facts.instances
    return tuple(one for one in codes.get(facts.instance, ()) if one != ABSENT)


@lru_cache(maxsize=8)
def instances(folder: Path) -> dict[str, tuple[str, ...]]:
    """Every instance of a copy, with the scenarios that have it."""
    found: dict[str, list[str]] = {}
    for scenario in scenarios(folder):
        facts = facts_of(folder / scenario)
        codes = read_json(folder / scenario / ENCODING, CLONE_AGAIN)
        for instance in instances_of(facts, codes) if facts is not None else ():
            found.setdefault(instance, []).append(scenario)
    return {name: tuple(own) for name, own in sorted(found.items(), key=lambda item: _by_number(item[0]))}


def measured(facts: ScenarioFacts, instance: str) -> tuple[DataSetFacts, LossFacts]:
    """What is known of an instance's data set, and which output of the scenario is its loss."""
    about = data_set(instance) if facts.names_data_sets else DataSetFacts()
    return about, facts.multiclass if facts.multiclass and about.classes > 2 else facts.loss


def metrics(folder: Path, instance: str) -> dict[str, str]:
    """The metric of an instance in each scenario that has it."""
    known = {name: facts_of(folder / name) for name in instances(folder)[instance]}
    return {name: measured(facts, instance)[1].metric for name, facts in known.items() if facts is not None}


def _by_number(name: str) -> tuple[int, str]:
    return (int(name), name) if name.isdecimal() else (10**12, name)


def refs(folder: Path | None) -> dict[str, DataRef]:
    """The tasks of the user's copy by their names; none where there is no copy."""
    found = find(folder)
    if found is None:
        return {}
    return {
        f"yahpo:{name}": DataRef(
            f"yahpo:{name}",
            "yahpo",
            path=str(found),
            problem=data_set(name).problem,
            recorded_folds=N_FOLDS,
        )
        for name in instances(found)
    }
