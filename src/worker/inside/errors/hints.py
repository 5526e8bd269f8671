"""(4) Hints for common mistakes, shown to a person or a model in addition to the error itself."""

from __future__ import annotations

import functools
import inspect
import itertools
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from types import GetSetDescriptorType
from typing import Any

from caps.protocol.errors import ProviderError
from caps.protocol.text import nearest
from caps.worker.inside.aio.futures import NOT_WAITED_FOR, Future, Task
from caps.worker.inside.errors.name_remedies import (
    IDENTIFIER_REMEDIES,
    IMPORTS,
    PACKAGE_ALIASES,
)
from caps.worker.inside.errors.package_hints import hint_for_alias, hint_for_package
from caps.worker.inside.facades.allowlist import FACADES
from caps.worker.inside.facades.alternatives import granted_name, namespace, use_instead
from caps.worker.inside.facades.remedies import NOBODY
from caps.worker.inside.stdlib.user_modules.table import USER_MODULES

_AWAIT = "the call was not awaited; write `await` before it"
_TASK = "it is a task; `await` gives its result"
_STREAM = "it gives a stream of items; write `async for item in` before the call"
_BY_NAME = {
    "breakpoint": "there is no debugger here; use `print`",
    "compile": "text is run with `exec` or `eval`",
    "help": "there is no `help` here; use `print(x.__doc__)`",
    "input": NOBODY,
    "main": "the code has no `main` here; define it above its first use",
    "raw_input": NOBODY,
    "unicode": "text is `str`",
}
_FILE_CALLS = {"files.read": "path=...", "files.write": "path=..., content=..."}
_OPENED_TO_WRITE = re.compile(
    r"""\bopen\(.{0,200}?,\s*(?:mode\s*=\s*)?["'][rbt]*[awx+]|\.write_(?:text|bytes)\("""
)
_RETURN = "`return` belongs into a function, or to the top level of the program"
_REFUSED_NAME = re.compile(r"`(\w+)` reaches into the interpreter")
_CATCH = "it is no class here; catch `{0}.ProviderError`, whose `error` is `{1}`"
_SHELL = "there is no shell and no notebook here; remove the line that starts with `{}`"
_PROSE = "the first line is not code; remove the text around the code, or make it a comment"
_SENTENCE = re.compile(r"([A-Z][a-z']{0,20})(?:,? [\w'`]{1,30}){2,20}[.:!]?")
_FENCE = "remove the Markdown fences around the code"
# Of several modules that offer a name, the one that code most likely means.
_FIRST_MODULES = (
    *("typing", "collections", "dataclasses", "datetime", "functools", "itertools"),
    *("math", "statistics"),
)
# Modules that no table of names has: each execution gets its own.
_OWN_MODULES = ("asyncio", "pathlib", "traceback", "warnings", "zoneinfo")
_MAX_LINE = 500
_MAX_CANDIDATES = 2000
_MAX_NAME = 100


@functools.cache
def _module_of() -> Mapping[str, str]:
    """For each name that a facade offers, its module."""
    found: dict[str, str] = {}
    for module in (*_FIRST_MODULES, *FACADES):
        for name in FACADES[module].split():
            found.setdefault(name, module)
    for module, names in USER_MODULES.items():
        for name in names.split():
            found.setdefault(name, module)
    return found


# A coroutine where its result was meant, in the words of the interpreter and of `json`; or what
# `asyncio.gather` returns.
_NOT_AWAITED = re.compile(
    r"'coroutine'|'Gathering'|object (coroutine|generator) "
    r"|\b[Nn]ot \(?\"?coroutine\b|\bcoroutine (found|is not)\b"
)
# A stream where its items were meant, or that was awaited; the latter in other words before 3.14.
_STREAM_ITSELF = re.compile("'async_generator'|object async_generator can't be used in 'await'")


def hint_for(error: BaseException, source_line: str = "") -> str | None:
    """A hint for `error`, raised on this line, in one line; None if there is nothing to add."""
    message = _builtin_message(error)
    if message is None:
        return hint_for_package(error, source_line)
    kind = type(error)
    if kind in (AttributeError, TypeError) and _STREAM_ITSELF.search(message[:200]):
        return _STREAM
    if kind in (AttributeError, TypeError) and _NOT_AWAITED.search(message[:200]):
        return _AWAIT
    if kind is RuntimeError and message == NOT_WAITED_FOR:  # it was unpacked or looped over
        return _AWAIT
    name = getattr(error, "name", None)
    if type(name) is str and len(name) <= _MAX_NAME:
        if kind in (NameError, UnboundLocalError):
            if _handled_name(error) == name:
                return _CATCH.format(namespace(), name)
            return _hint_for_name(name, source_line) or _similar(name, _variables(error))
        if kind is AttributeError and not name.startswith("_"):
            return _hint_for_attribute(name, error.obj) or hint_for_package(error)  # type: ignore[attr-defined]
    return hint_for_package(error, source_line)


def add_hint(error: BaseException) -> None:
    """Add the hint for a name that does not exist to the text of the error, which code may print.

    Of other errors code may catch many, and searching for similar names takes long.
    """
    if type(error) in (NameError, UnboundLocalError):
        hint, message = hint_for(error), _builtin_message(error)
        if hint is not None and message is not None and not message.endswith(hint):
            error.args = (f"{message}; {hint}",)


def hint_for_syntax(message: str, source: str = "") -> str | None:
    """The same for a message of the compiler about this source."""
    if "'return' outside function" in message:
        return _RETURN
    if any(line.lstrip().startswith("```") for line in source.splitlines()):
        return _FENCE
    if "outside async function" in message or "outside function" in message:
        return "`await` belongs into an `async def`, or outside of every function"
    refused = _REFUSED_NAME.search(message[:_MAX_LINE])
    return _hint_for_form(source) if refused is None else IDENTIFIER_REMEDIES.get(refused[1])


def _hint_for_form(source: str) -> str | None:
    """The hint for what models write around code, or for a notebook."""
    lines = [line for line in source.splitlines() if line.strip()]
    for line in lines:  # one that is indented may continue an expression
        if re.match("[!%]{1,2}[a-z]", line):
            return _SHELL.format(line[0])
    sentence = (
        _SENTENCE.fullmatch(lines[0].strip()) if lines and len(lines[0]) <= _MAX_LINE else None
    )
    is_prose = sentence is not None and not keyword.iskeyword(sentence[1].lower())
    return _PROSE if is_prose else None


def _handled_name(error: BaseException) -> str | None:
    """The name of the provider's error that was being handled."""
    handled = error.__context__
    details = handled.details if type(handled) is ProviderError else None
    found = details.get("error") if type(details) is dict else None
    return found if type(found) is str else None  # code may have put an object of its own there


def _hint_for_name(name: str, source_line: str) -> str | None:
    if name in ("open", "Path"):
        return _hint_for_open(source_line)
    if name in _BY_NAME:
        return _BY_NAME[name]
    if granted_name(name) is not None:
        written = re.findall(rf"\b{re.escape(name)}\.(\w+)", source_line[:_MAX_LINE])
        functions = (granted_name(f"{name}.{function}") for function in written)
        return f"write `{next(filter(None, functions), granted_name(name))}`"
    if name in FACADES or name in USER_MODULES or name in _OWN_MODULES:
        return f"write `{_import_of(name, source_line)}` first"
    if name in IMPORTS:
        return f"write `{IMPORTS[name]}` first"
    if name in _module_of():
        return f"write `from {_module_of()[name]} import {name}` first"
    if name in PACKAGE_ALIASES:
        return hint_for_alias(name, PACKAGE_ALIASES[name])
    found = nearest(name, [*FACADES, *_OWN_MODULES, *_BY_NAME], cutoff=0.85, max_characters=None)
    return f"did you mean `{found}`?" if found else None


def _import_of(name: str, source_line: str) -> str:
    """The import of the module `name`, or of what it has under its own name."""
    offered = {*FACADES.get(name, "").split(), *USER_MODULES.get(name, "").split()}
    if name in offered:  # `datetime.now()`, `copy(x)`: not the module
        used = re.search(rf"\b{name}(?:\.(\w+)|\s*\()", source_line[:_MAX_LINE])
        if used is not None and used[1] not in offered:
            return f"from {name} import {name}"
    return f"import {name}"


def _hint_for_open(source_line: str) -> str:
    if not source_line:
        return "there are no files here; a policy may grant `files.read` and `files.write`"
    is_written = _OPENED_TO_WRITE.search(source_line[:_MAX_LINE]) is not None
    name = "files.write" if is_written else "files.read"
    return f"there are no files here; {use_instead(name, _FILE_CALLS[name])}"


def _hint_for_attribute(name: str, value: object) -> str | None:
    if type(value) in (Future, Task):
        return _TASK
    return _similar(name, _attributes(value))


def _similar(name: str, candidates: Iterable[Any]) -> str | None:
    """As Python itself suggests a name when it prints an error."""
    names = {each for each in candidates if type(each) is str and each.isidentifier()}
    known = [each for each in names - {name} if not each.startswith("_")]
    found = nearest(name, sorted(known), cutoff=0.7)
    return f"did you mean `{found}`?" if found else None


def _variables(error: BaseException) -> Iterator[Any]:
    """The names that the code could have used where `error` was raised."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is not None:
        frame = traceback.tb_frame
        # Those of a function are a view from Python 3.13 on; in a class they may be the user's kind
        # of dictionary, of which no method is called.
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
        local = dict(frame.f_locals) if is_function else frame.f_locals
        for names in (local, frame.f_globals, frame.f_builtins):
            yield from itertools.islice(dict.copy(names), _MAX_CANDIDATES)


def _attributes(value: object) -> Iterator[Any]:
    """The attributes of `value`. Runs no code of the user's, unlike `dir`."""
    if type(value) is type:  # a class has its own attributes and those of its bases
        classes = type.mro(value)
    else:
        classes = type.mro(type(value)) if type(type(value)) is type else []
    for cls in classes:
        names = type.__dict__["__dict__"].__get__(cls)
        yield from itertools.islice(names.copy(), _MAX_CANDIDATES)
        own = names.get("__dict__")
        if type(own) is GetSetDescriptorType and type(value) is not type:
            found = own.__get__(value)
            if type(found) is dict:
                yield from itertools.islice(dict.copy(found), _MAX_CANDIDATES)


def _builtin_message(error: Any) -> str | None:
    """The message of a builtin error; None for the user's own classes."""
    if type(error).__module__ != "builtins" or not error.args:
        return None
    text = error.args[0]
    return text if type(text) is str else None
