"""(4) What a well-known package does late, done early: imports, files, first uses.

A package may import a part of itself in a function, or read a font when it draws the first text.
In a worker both are too late. So each zygote with real modules *prepares* the well-known packages
that it has loaded: it imports the listed parts, keeps the listed files in memory, and exercises the
package, as its users do.

Runs in the zygote with the host's rights, before it is confined: all code here is trusted.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator

import msgspec


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """How one package is prepared. Everything that fails is left out, as if it were not there."""

    package: str
    needs: tuple[str, ...] = ()
    """Other packages: only if they are loaded, too. They are never loaded for this."""
    parts: str = ""
    """Modules to import, separated by spaces; `a.b.*` is the package `a.b` with all below it."""
    skipped: str = ""
    """Modules that a `.*` does not mean, with all below them."""
    exercises: tuple[Callable[[], object], ...] = ()


class Failure(msgspec.Struct, frozen=True):
    """A part or an exercise that failed, and why."""

    package: str
    what: str
    error: str


def prepare(preparations: Iterable[Preparation]) -> list[Failure]:
    """Prepare those packages that are loaded. Returns what was left out."""
    failures = []
    for one in preparations:
        if not all(name in sys.modules for name in (one.package, *one.needs)):
            continue
        for step in _steps(one):
            try:
                step.run()
            except BaseException as error:  # noqa: BLE001 - foreign code, of any version
                reason = f"{type(error).__name__}: {error}"
                failures.append(Failure(one.package, step.name, reason[:300]))
    return failures


class _Step(msgspec.Struct, frozen=True):
    name: str
    run: Callable[[], object]


def _steps(preparation: Preparation) -> Iterator[_Step]:
    skipped = frozenset(preparation.skipped.split())
    for part in preparation.parts.split():
        package = part.removesuffix(".*")
        yield _Step(package, functools.partial(importlib.import_module, package))
        for name in _below(package, skipped) if package != part else ():
            yield _Step(name, functools.partial(importlib.import_module, name))
    for exercise in preparation.exercises:
        yield _Step(exercise.__name__, exercise)


def _below(package: str, skipped: frozenset[str]) -> Iterator[str]:
    """All modules in a package that is loaded, but for its tests. A part is loaded before its own
    parts are listed, and has none if that failed."""
    module = sys.modules.get(package)
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        name = f"{package}.{found.name}"
        if found.name not in DEVELOPER_MODULES and name not in skipped:
            yield name
            if found.ispkg:
                yield from _below(name, skipped)


# Not meant for users of a package: these modules need the tools of its developers.
DEVELOPER_MODULES = frozenset({"benchmarks", "conftest", "setup", "test", "tests"})
