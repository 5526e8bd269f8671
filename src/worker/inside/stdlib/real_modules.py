"""(4) Real modules that a policy grants, loaded by a zygote of their own before it is confined.

The language layer does not vouch for them: code that holds one must be assumed to have left that
layer, and what holds it then are the layers beneath. Nothing can be imported after the zygote has
shut itself in, so a package is loaded with the public modules directly in it. Threads do not
survive a fork, so libraries are told to start none, and one that does all the same is refused.

Runs in the zygote with the host's rights, before any fork: a module that is granted is trusted as
far as its import goes, like everything else that is installed beside us.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType

# What numerical libraries read when they are loaded.
_ONE_THREAD = (
    "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)
# Not there for those who use a package: they look for what its developers have.
_NOT_FOR_USE = frozenset({"conftest", "setup", "test", "tests"})
_MOST_CHARACTERS = 300


class RealModuleError(Exception):
    """A module cannot be granted here. `module` is its name, `reason` one line."""

    def __init__(self, module: str, reason: str) -> None:
        super().__init__(module, reason)
        self.module = module
        self.reason = reason


def load_real_modules(names: tuple[str, ...]) -> Mapping[str, ModuleType]:
    """What code may import of these, by full name: all of it public. Raises RealModuleError."""
    if not names:
        return {}
    # `__main__` keeps it from msgspec, which is loaded by now; these may need it.
    sys.modules.pop("typing_extensions", None)
    ours = _ours()
    with _thrifty():
        for name in names:
            _load(name)
            _check_process(name, ours)
    _seed_in_every_fork()
    loaded: dict[str, object] = dict(sys.modules)  # None where an import was blocked
    return {
        found: module
        for found, module in loaded.items()
        if isinstance(module, ModuleType)
        and found.partition(".")[0] in names
        and not any(part.startswith("_") for part in found.split("."))
    }


@contextmanager
def _thrifty() -> Iterator[None]:
    """No threads, no warnings; afterwards the environment is as empty as it was."""
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _load(name: str) -> None:
    import pkgutil  # here, so that no other zygote holds it

    try:
        module = importlib.import_module(name)
    except BaseException as error:  # foreign code; the host is told
        raise RealModuleError(name, f"cannot be imported: {_one_line(error)}") from error
    for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if part.name.startswith("_") or part.name in _NOT_FOR_USE:
            continue
        try:
            importlib.import_module(f"{name}.{part.name}")
        except BaseException:  # noqa: BLE001, S112 - it wants what is not installed; so nobody has it
            continue


def _check_process(name: str, ours: frozenset[str]) -> None:
    """A RealModuleError if workers forked from here would not be what they are said to be."""
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - no path is needed
    if threads != 1:
        raise RealModuleError(
            name, f"has started {threads - 1} threads when it was loaded, and a fork keeps none"
        )
    brought = sorted(_ours() - ours)
    if brought:
        raise RealModuleError(name, f"loads `{brought[0]}`, which no worker may hold")


def _seed_in_every_fork() -> None:
    """The library's `random` sees to itself; numpy's would give all workers the same numbers."""
    if "numpy.random" in sys.modules:
        os.register_at_fork(after_in_child=sys.modules["numpy.random"].seed)


def _ours() -> frozenset[str]:
    return frozenset(name for name in sys.modules if name.partition(".")[0] == "caps")


def _one_line(error: BaseException) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
