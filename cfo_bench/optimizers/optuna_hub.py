"""Samplers of OptunaHub packages in local folders as methods. Nothing is fetched."""

from __future__ import annotations

from cfo_bench.errors import UnknownNameError, UserError, describe
from cfo_bench.optimizers.optuna_families import method_of, samplers_of
from cfo_bench.optimizers.optuna_samplers import OptunaMethod, no_announcements
from cfo_bench.optimizers.packaged import silence
from cfo_bench.registry import existing_folder


def hub_sampler_called(place: str) -> type[OptunaMethod]:
    """The method of a sampler class of an OptunaHub package: `FOLDER:Class`."""
    path, _, name = place.rpartition(":")
    folder = existing_folder(path, "optunahub")
    if not (folder / "__init__.py").is_file():
        raise UserError(f"folder {path!r} has no __init__.py: give the folder of an OptunaHub package")
    import optunahub

    try:
        with silence(), no_announcements():
            module = optunahub.load_local_module(folder.name, registry_root=str(folder.parent))
    except Exception as error:  # whatever somebody else's package does when it is imported
        raise UserError(
            f"the OptunaHub package {path!r} can't be imported: mend it, or install what it needs "
            f"({describe(error)})"
        ) from error
    classes = samplers_of(vars(module))
    if name not in classes:
        raise UnknownNameError(f"sampler of the OptunaHub package {path!r},", name, classes)
    return method_of(classes[name], f"optunahub:{place}")
