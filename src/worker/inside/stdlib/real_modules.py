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
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

# Environment variables that numerical libraries read when they are loaded.
_THREAD_COUNT_VARIABLES = (
    "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)
# Not meant for users of a package: these modules need the tools of its developers.
_DEVELOPER_MODULES = frozenset({"conftest", "setup", "test", "tests"})
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
    # `__main__` blocks it for msgspec, which is loaded by now; real modules may need it.
    sys.modules.pop("typing_extensions", None)
    before = _loaded_caps_modules()
    with _single_threaded():
        for name in names:
            _load(name)
            _check_process(name, before)
    _seed_in_every_fork()
    loaded: dict[str, object] = dict(sys.modules)  # None where an import was blocked
    return {
        name: module
        for name, module in loaded.items()
        if isinstance(module, ModuleType)
        and name.partition(".")[0] in names
        and not any(part.startswith("_") for part in name.split("."))
    }


@contextmanager
def _single_threaded() -> Iterator[None]:
    """No threads and no warnings inside; the environment is restored afterwards."""
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(_THREAD_COUNT_VARIABLES, "1"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _load(name: str) -> None:
    import pkgutil  # here, so that other zygotes do not load it

    try:
        module = importlib.import_module(name)
    except BaseException as error:  # foreign code; the error goes to the host
        raise RealModuleError(name, f"cannot be imported: {_one_line(error)}") from error
    for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if part.name.startswith("_") or part.name in _DEVELOPER_MODULES:
            continue
        try:
            importlib.import_module(f"{name}.{part.name}")
        except BaseException:  # noqa: BLE001, S112 - it needs something that is not installed
            continue


def _check_process(name: str, before: frozenset[str]) -> None:
    """Raise RealModuleError if workers forked from here would break their guarantees."""
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - no path is needed
    if threads != 1:
        raise RealModuleError(
            name, f"has started {threads - 1} threads when it was loaded, and a fork keeps none"
        )
    added = sorted(_loaded_caps_modules() - before)
    if added:
        raise RealModuleError(name, f"loads `{added[0]}`, which no worker may hold")


def _seed_in_every_fork() -> None:
    """Seed numpy in each fork, or all workers get the same numbers; `random` does so itself."""
    if "numpy.random" in sys.modules:
        os.register_at_fork(after_in_child=sys.modules["numpy.random"].seed)


def _loaded_caps_modules() -> frozenset[str]:
    return frozenset(name for name in sys.modules if name.partition(".")[0] == "caps")


def _one_line(error: BaseException) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
