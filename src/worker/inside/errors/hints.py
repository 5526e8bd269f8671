"""(4) Hints for common mistakes, shown to a person or a model in addition to the error itself."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from caps.protocol.text import nearest
from caps.worker.inside.errors.package_hints import hint_for_package
from caps.worker.inside.facades.allowlist import FACADES

_AWAIT = "the call was not awaited; write `await` before it"
_BY_NAME = {
    "breakpoint": "there is no debugger here; use `print`",
    "compile": "text is run with `exec` or `eval`",
    "help": "there is no `help` here; use `print(x.__doc__)`",
    "input": "nobody is there to answer; the caller can give values as `inputs`",
    "open": "files are read with `await caps.files.read(path=...)` and written with "
    "`await caps.files.write(path=..., content=...)`, if the policy grants it",
}
_RETURN = "`return` belongs into a function, or to the top level of the program"
_FENCE = "remove the Markdown fences around the code"
# Of several modules that offer a name, the one that code most likely means.
_FIRST_MODULES = ("typing", "collections", "dataclasses", "datetime", "functools", "itertools")
# The domains that code can call, with the namespace before each: filled when they are granted.
_granted: dict[str, str] = {}


def remember_domains(namespace: str, domains: Iterable[str]) -> None:
    """A bare name of a domain gets a hint from now on."""
    _granted.clear()
    _granted.update({domain: f"{namespace}.{domain}" for domain in domains})


@functools.cache
def _module_of() -> Mapping[str, str]:
    """For each name that a facade offers, its module."""
    found: dict[str, str] = {}
    for module in (*_FIRST_MODULES, *FACADES):
        for name in FACADES[module].split():
            found.setdefault(name, module)
    return found


_NOT_AWAITED = re.compile(r"'(coroutine|async_generator)' object|object (coroutine|generator) ")


def hint_for(error: BaseException) -> str | None:
    """A hint for `error`, in one line; None if there is nothing to add."""
    message = _builtin_message(error)
    if message is None:
        return hint_for_package(error)
    kind = type(error)
    if kind in (AttributeError, TypeError) and _NOT_AWAITED.search(message[:200]):
        return _AWAIT
    if kind is NameError:
        return _hint_for_name(error.name if type(error.name) is str else "")  # type: ignore[attr-defined]
    return hint_for_package(error)


def hint_for_syntax(message: str, source_line: str | None = None) -> str | None:
    """The same for a message of the compiler about this line."""
    if "'return' outside function" in message:
        return _RETURN
    if source_line is not None and source_line.lstrip().startswith("```"):
        return _FENCE
    if "outside async function" in message or "outside function" in message:
        return "`await` belongs into an `async def`, or outside of every function"
    return None


def _hint_for_name(name: str) -> str | None:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in _granted:
        return f"write `{_granted[name]}`"
    if name in FACADES:
        return f"write `import {name}` first"
    if name in _module_of():
        return f"write `from {_module_of()[name]} import {name}` first"
    found = nearest(name, [*FACADES, *_BY_NAME], cutoff=0.85, max_characters=None)
    return f"did you mean `{found}`?" if found else None


def _builtin_message(error: Any) -> str | None:
    """The message of a builtin error; None for the user's own classes."""
    if type(error).__module__ != "builtins" or not error.args:
        return None
    text = error.args[0]
    return text if type(text) is str else None
