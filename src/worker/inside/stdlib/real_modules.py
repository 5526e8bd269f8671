"""(4) Real modules that a policy grants, loaded by a zygote of their own before it is confined.

The language layer gives no guarantee for them: assume that code with access to one has escaped from
that layer and is confined only by the layers below. Nothing can be imported after the zygote has
confined itself, so a package is loaded together with the public modules directly in it. Threads do
not survive a fork, so libraries are configured to start none, and a library that still does is
refused.

Runs in the zygote with the host's rights, before any fork: the import of a granted module is
trusted, like all other installed code.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from caps.worker.inside.confinement.rlimits import allow_for_modules, mapped_bytes

_MAX_CHARACTERS = 300


class RealModuleError(Exception):
    """A module cannot be granted here. `module` is its name, `reason` one line."""

    def __init__(self, module: str, reason: str) -> None:
        super().__init__(module, reason)
        self.module = module
        self.reason = reason


def load_real_modules(names: tuple[str, ...]) -> Mapping[str, ModuleType]:
    """The public modules that code may import, by full name. Raises RealModuleError."""
    if not names:
        return {}
    from caps.worker.inside.packages.settings import package_settings

    # `__main__` blocks it for msgspec, which is loaded by now; real modules may need it.
    sys.modules.pop("typing_extensions", None)
    before, mapped_before = _loaded_caps_modules(), mapped_bytes()
    with package_settings():
        for name in names:
            _load(name)
            _check_process(name, before)
        _prepare(names[-1], before)
    _seed_in_every_fork()
    allow_for_modules(mapped_bytes() - mapped_before)
    packages = {name.partition(".")[0] for name in names}
    loaded: dict[str, object] = dict(sys.modules)  # None where an import was blocked
    return {
        name: module
        for name, module in loaded.items()
        if isinstance(module, ModuleType)
        and name.partition(".")[0] in packages
        and (name in names or not any(part.startswith("_") for part in name.split(".")))
    }


def _load(name: str) -> None:
    # Here, so that other zygotes do not load them.
    import pkgutil

    from caps.worker.inside.packages.preparation import DEVELOPER_MODULES

    try:
        module = importlib.import_module(name)
    except BaseException as error:  # foreign code; the error goes to the host
        raise RealModuleError(name, f"cannot be imported: {_one_line(error)}") from error
    for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if part.name.startswith("_") or part.name in DEVELOPER_MODULES:
            continue
        try:
            importlib.import_module(f"{name}.{part.name}")
        except BaseException:  # noqa: BLE001, S112 - it needs something that is not installed
            continue


def _prepare(name: str, before: frozenset[str]) -> None:
    """Prepare the well-known packages among all that are loaded now, granted or not."""
    from caps.worker.inside.packages import data_files
    from caps.worker.inside.packages.known.table import PREPARATIONS
    from caps.worker.inside.packages.preparation import prepare
    from caps.worker.inside.packages.time_zones import keep_time_zones

    keep_time_zones()
    prepare(PREPARATIONS)
    data_files.install()
    _check_process(name, before)


def _check_process(name: str, before: frozenset[str]) -> None:
    """Raise RealModuleError if workers forked from here would break their guarantees."""
    threads = _other_threads()
    if threads:
        raise RealModuleError(
            name,
            f"has started {len(threads)} threads when it was loaded ({', '.join(threads)}), and a "
            "fork keeps none",
        )
    added = sorted(_loaded_caps_modules() - before)
    if added:
        raise RealModuleError(name, f"loads `{added[0]}`, which no worker may hold")


def _other_threads() -> list[str]:
    """The names of all threads of this process, but for this one."""
    tasks = Path("/proc/self/task")
    own = str(os.getpid())
    others = (task for task in tasks.iterdir() if task.name != own)
    return sorted((task / "comm").read_text().strip() for task in others)


def _seed_in_every_fork() -> None:
    """Seed numpy in each fork, or all workers get the same numbers; `random` does so itself."""
    if "numpy.random" in sys.modules:
        os.register_at_fork(after_in_child=sys.modules["numpy.random"].seed)


def _loaded_caps_modules() -> frozenset[str]:
    """Our own modules, but for those that are made for workers."""
    caps = (name for name in sys.modules if name.partition(".")[0] == "caps")
    return frozenset(name for name in caps if not name.startswith("caps.worker.inside."))


def _one_line(error: BaseException) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
