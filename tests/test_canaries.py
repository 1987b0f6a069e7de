"""The private parts of other packages that cfo-bench uses or replaces are as in the tested versions.

A failure after an upgrade names the module of ours that depends on the part, and what to check there. If
the module is still right, write the new digest here.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.metadata
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import forkserver, process
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "cfo_bench"


# --- functions that are replaced, or that ours was written after ---------------------------------


@dataclass(frozen=True)
class Copied:
    """A function of another package, with the digest of its source."""

    distribution: str
    function: str  # module:name
    digest: str
    used_by: str
    remedy: str


COPIED = [
    Copied(
        "hpbandster",
        "hpbandster.optimizers.config_generators.bohb:BOHB.get_config",
        "b51570422e58",
        "optimizers/bohb.py",
        "`_Raise` knows the messages that it logs before it falls back to a random configuration",
    ),
    Copied(
        "hpbandster",
        "hpbandster.core.base_iteration:BaseIteration.register_result",
        "e68af1bb7e72",
        "optimizers/bohb.py",
        "`Hyperband.learn` gives it a Job with just the attributes that it reads",
    ),
    Copied(
        "scikit-optimize",
        "skopt.optimizer:Optimizer._tell",
        "60282685978e",
        "optimizers/gaussian_process.py",
        "GPEIPS shifts the losses because of its np.min(self.yi), `learn` sets acq_func_kwargs before it, "
        "and GPCooled rewrites yi",
    ),
    Copied(
        "dehb",
        "dehb.optimizers.dehb:DEHBBase._setup_logger",
        "768cf7998cda",
        "optimizers/dehb.py",
        "`QuietDEHB._setup_logger` sets the same attributes, without files and terminal",
    ),
    Copied(
        "dehb",
        "dehb.optimizers.dehb:DEHB.ask",
        "3471f41a942b",
        "optimizers/dehb.py",
        "`DEHB.begin` puts the start into config_repository.configs, under the config_id of its job",
    ),
    Copied(
        "smac",
        "smac.acquisition.maximizer.local_search:LocalSearch._get_init_points_from_previous_configs",
        "cbddd99c951c",
        "optimizers/smac.py",
        "`_keep_order` sorts its configurations, since they come from a set; if they do no longer, remove it",
    ),
    Copied(
        "smac",
        "smac.initial_design.random_design:RandomInitialDesign._select_configurations",
        "0125969db29a",
        "optimizers/smac.py",
        "`StartFirst` puts the start before its configurations, and keeps `_n_configs` of them",
    ),
    Copied(
        "hyperopt",
        "hyperopt.base:Trials._insert_trial_docs",
        "713bcb2131dd",
        "optimizers/hyperopt.py",
        "`_insert` takes the last of `_dynamic_trials` for the document that it has inserted",
    ),
]


def source_digest(function: str) -> str:
    """The digest of a function's source, whatever its indentation and line ends."""
    module, _, name = function.partition(":")
    part: Any = importlib.import_module(module)
    for attribute in name.split("."):
        part = getattr(part, attribute)
    return hashlib.sha256(" ".join(inspect.getsource(part).split()).encode()).hexdigest()[:12]


@pytest.mark.parametrize("copied", COPIED, ids=lambda copied: copied.function)
@pytest.mark.filterwarnings("ignore")
def test_a_function_that_we_replace_or_imitate_is_unchanged(copied: Copied) -> None:
    digest = None
    try:
        digest = source_digest(copied.function)
        change = f"has changed (its digest is {digest} now)"
    except (ImportError, AttributeError) as error:
        change = f"is gone ({error})"
    version = importlib.metadata.version(copied.distribution)

    assert digest == copied.digest, (
        f"{copied.function} {change} in {copied.distribution} {version}: check "
        f"cfo_bench/{copied.used_by}, where {copied.remedy}"
    )


# --- private names -------------------------------------------------------------------------------


def _scorers() -> bool:
    from sklearn.metrics import get_scorer, log_loss

    scorer = get_scorer("neg_log_loss")
    modules = {
        get_scorer(name)._score_func.__module__.rpartition(".")[2] for name in ("accuracy", "roc_auc", "r2")
    }
    return (
        scorer._score_func is log_loss
        and scorer._sign == -1
        and modules == {"_classification", "_ranking", "_regression"}
    )


def _forest() -> bool:
    from ConfigSpace import ConfigurationSpace
    from smac.model.random_forest.random_forest import RandomForest

    return {"n_jobs", "max_leaf_nodes"} <= RandomForest(ConfigurationSpace({"x": (0.0, 1.0)}))._rf_opts.keys()


def _local_search() -> bool:
    from ConfigSpace import ConfigurationSpace
    from smac.acquisition.maximizer import LocalAndSortedRandomSearch
    from smac.acquisition.maximizer.local_search import LocalSearch

    space = ConfigurationSpace({"x": (0.0, 1.0)})
    return isinstance(LocalAndSortedRandomSearch(space)._local_search, LocalSearch)


def _initial_design() -> bool:
    from smac.initial_design import AbstractInitialDesign

    return "_n_configs" in AbstractInitialDesign.__init__.__code__.co_names


def _optuna_ids() -> bool:
    import optuna

    study = optuna.create_study()
    trial = study.ask()
    return study._storage.get_trial(trial._trial_id).number == 0 and study._study_id == 0


def _optuna_tables() -> bool:
    from optuna.storages._rdb import models

    columns = {
        models.TrialModel: {"trial_id", "study_id", "number", "state", "datetime_start", "datetime_complete"},
        models.TrialValueModel: {"trial_id", "objective", "value", "value_type"},
        models.TrialParamModel: {"trial_id", "param_name", "param_value", "distribution_json"},
        models.TrialUserAttributeModel: {"trial_id", "key", "value_json"},
    }
    return all(names <= set(model.__table__.columns.keys()) for model, names in columns.items())


def _openml() -> bool:
    import openml

    task = openml.tasks.task.OpenMLSupervisedTask
    return hasattr(task, "_download_split") and hasattr(openml.config, "_root_cache_directory")


def _fused_adam() -> bool:
    import torch

    return callable(torch._fused_adam_)


def _fork_server() -> bool:
    server: Any = forkserver._forkserver
    return hasattr(server, "_forkserver_pid") and hasattr(server, "_forkserver_alive_fd")


def _processes() -> bool:
    current: Any = process.current_process()
    return isinstance(current._config, dict) and isinstance(process._children, set)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Private:
    """Private names of another package, or of Python, and whether they are there and mean the same."""

    names: tuple[str, ...]
    is_there: Callable[[], bool]
    used_by: str
    remedy: str


PRIVATE = [
    Private(
        ("_score_func", "_sign"),
        _scorers,
        "learners/scoring.py",
        "find another way to the function behind a scorer, its sign, and the problems that it is for",
    ),
    Private(
        ("_rf_opts",),
        _forest,
        "optimizers/smac.py",
        "set the threads of the forest and the bound on its leaves in another way",
    ),
    Private(
        ("_local_search", "_get_init_points_from_previous_configs"),
        _local_search,
        "optimizers/smac.py",
        "`_keep_order` has to find the local search",
    ),
    Private(
        ("_n_configs",),
        _initial_design,
        "optimizers/smac.py",
        "`StartFirst` has to know the number of initial configurations",
    ),
    Private(
        ("_dynamic_trials",),
        lambda: importlib.import_module("hyperopt").Trials()._dynamic_trials == [],
        "optimizers/hyperopt.py",
        "`_insert` has to find the document that hyperopt keeps",
    ),
    Private(
        ("_storage", "_study_id", "_trial_id"),
        _optuna_ids,
        "optuna/sampler.py and exchange/optuna_studies.py",
        "use another way to a study's storage",
    ),
    Private(
        ("_rdb",),
        _optuna_tables,
        "exchange/optuna_studies.py",
        "`_insert` writes into these tables: compare them, or use Study.add_trial, which is slower",
    ),
    Private(
        ("_download_split", "_root_cache_directory"),
        _openml,
        "tasks/sources/openml.py",
        "download the folds, and set the cache folder, in another way",
    ),
    Private(
        ("_fused_adam_",),
        _fused_adam,
        "learners/network.py",
        "call torch.optim.Adam(fused=True), which takes longer for a small step",
    ),
    Private(
        ("_forkserver", "_forkserver_pid", "_forkserver_alive_fd"),
        _fork_server,
        "machine/fork_server.py and machine/processes.py",
        "find the process of the fork server, and end it, in another way",
    ),
    Private(
        ("_children", "_config"),
        _processes,
        "machine/fork_server.py and engines/dask/worker.py",
        "find a process's children, and let a daemon have them, in another way",
    ),
]


@pytest.mark.parametrize("private", PRIVATE, ids=lambda private: ", ".join(private.names))
@pytest.mark.filterwarnings("ignore")
def test_a_private_name_that_we_use_is_there_and_means_the_same(private: Private) -> None:
    try:
        is_there = private.is_there()
    except (ImportError, AttributeError) as error:
        is_there, problem = False, str(error)
    else:
        problem = "it means something else"

    assert is_there, (
        f"{', '.join(private.names)}: {problem}: in cfo_bench/{private.used_by}, {private.remedy}"
    )


def test_every_private_name_of_another_package_has_a_canary() -> None:
    listed = {name for private in PRIVATE for name in private.names} | {"_exit"}  # os._exit is documented
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    ours = {name for tree in trees.values() for name in _names_defined_in(tree)}
    theirs = {
        name: str(path.relative_to(PACKAGE))
        for path, tree in trees.items()
        for name in _private_names_used_in(tree)
        if name not in ours
    }

    assert len(theirs) > 10
    assert theirs.keys() <= listed, f"add a canary for each of {theirs.keys() - listed}: {theirs}"


def _private_names_used_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("cfo_bench"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
        else:
            continue
        yield from (name for name in names if re.fullmatch(r"_[a-z]\w*", name))


def _names_defined_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from [node.attr] if ast.unparse(node.value) in ("self", "cls") else []


# --- pins of old packages ------------------------------------------------------------------------


def test_nevergrad_pins_no_other_packages_than_before() -> None:
    pins = [
        line
        for line in importlib.metadata.requires("nevergrad") or ()
        if "==" in line and "extra" not in line
    ]

    assert pins == ["bayesian-optimization==1.4.0"], (
        "nevergrad pins other packages: check that they fit the others in one environment (make lock), and "
        "write the new pins here"
    )
