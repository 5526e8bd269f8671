"""(4) Hints for errors of real modules: what the sandbox lacks, and what the code has instead.

A hint names only what exists: functions that this execution was granted.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator

from caps.worker.inside.facades.alternatives import granted_name
from caps.worker.inside.facades.remedies import GRANTABLE
from caps.worker.inside.packages.machine import NO_NETWORK, NO_PROCESS, NO_THREAD

_MAX_CHAIN = 8
_ONE_PROCESS = "a worker is one process with one thread; leave out `workers`, `n_jobs` and similar"
_ARROW_THREAD = "Failed to launch worker thread"
_REFUSED_IMPORT = "` cannot be imported here"
_MAX_CHARACTERS = 200
_FILES = "there are no files here; use `io.StringIO` or `io.BytesIO`"
# Modules that start threads or processes: no policy can add them.
_PARALLEL = frozenset({"concurrent", "ctypes", "multiprocessing", "signal", "subprocess"})
# Modules that only reach the network, and others outside the standard library: no policy, either.
_NETWORK = frozenset("ftplib http imaplib poplib smtplib socket ssl urllib xmlrpc".split())
# No policy grants them; from `crypt` on they were in the library before Python 3.13.
_MACHINE = frozenset(
    "cffi pip pyseccomp setuptools crypt imp nntplib pipes smtpd spwd telnetlib".split()
)
# A part of a package that is loaded if another package is granted, and that one.
_LOADED_WITH = {"pandas.plotting._matplotlib": "matplotlib"}
_WRITES = re.compile(r"(?<![^\W_])(?:dump|export|save|to|write)(?:_\w{1,40}|fig|as)?\s?\(")

# The real modules that are granted.
_modules: set[str] = set()


def remember_modules(names: Iterable[str]) -> None:
    """Their errors get hints from now on."""
    _modules.update(names)


def hint_for_package(error: BaseException, source_line: str = "") -> str | None:
    """A hint for `error`, raised on this line, or for what caused it; None if it has nothing to do
    with the sandbox."""
    if not _modules:
        return None
    chain = list(_chain(error))
    hint = next(filter(None, (_hint_for_one(one, source_line) for one in chain)), None)
    if hint is None:
        return None
    packages = (str(type(one).__module__).partition(".")[0] for one in chain)
    package = next((name for name in packages if name in _modules), None)
    return f"`{package}` is confined: {hint}" if package else hint


def hint_for_alias(alias: str, module: str) -> str:
    """The hint about a name that usually stands for the package `module`."""
    top, _, part = module.partition(".")
    if top in _modules:
        return (
            f"write `{f'from {top} import {part}' if part else f'import {top}'} as {alias}` first"
        )
    return f'`{alias}` is usually `{top}`; a policy can grant it: "modules": ["{top}"]'


def _chain(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    for _ in range(_MAX_CHAIN):
        if one is None:
            return
        yield one
        one = one.__cause__ or one.__context__


def _hint_for_one(error: BaseException, source_line: str) -> str | None:
    # Exact types, since a class of the user's may have properties of these names.
    message = error.args[-1] if error.args else ""
    if type(message) is not str:
        return None
    if type(error) is ModuleNotFoundError:
        # The import of user code says itself what to do.
        return None if _REFUSED_IMPORT in message else _hint_for_import(error.name)
    if message == NO_NETWORK:
        return _hint_for_network()
    if message in (NO_PROCESS, NO_THREAD):
        return _ONE_PROCESS
    if _ARROW_THREAD in message[:_MAX_CHARACTERS]:
        return "a worker has one thread; pass `use_threads=False`"
    if type(error) in (FileNotFoundError, PermissionError) and error.filename is not None:  # type: ignore[attr-defined]
        return _hint_for_file(source_line)
    return None


def _hint_for_network() -> str:
    fetch = granted_name("web.fetch")
    return f"use `await {fetch}(...)`" if fetch else "only granted functions reach the network"


def _hint_for_file(source_line: str) -> str:
    is_written = _WRITES.search(source_line[:_MAX_CHARACTERS]) is not None
    function = granted_name("files.write" if is_written else "files.read")
    arguments = "path=..., content=..." if is_written else "path=..."
    return f"{_FILES}, or `await {function}({arguments})`" if function else _FILES


def _hint_for_import(name: object) -> str | None:
    if type(name) is not str:
        return None
    top = name.partition(".")[0]
    if top in _PARALLEL:
        return _ONE_PROCESS
    if top in _NETWORK:
        return f"there is no network here; {_hint_for_network()}"
    if top in _MACHINE or (top in sys.stdlib_module_names and not _is_grantable(name)):
        return None
    module = _LOADED_WITH.get(name, name)
    return f"modules are loaded before the code starts; add `{module}` to `modules` of the policy"


def _is_grantable(name: str) -> bool:
    """Whether a policy may grant this module of the standard library, or one that contains it."""
    parts = name.split(".")
    return any(".".join(parts[:length]) in GRANTABLE for length in range(1, len(parts) + 1))
