"""(4) Hints for common mistakes, shown to a person or a model in addition to the error itself."""

from __future__ import annotations

import re
from typing import Any

from caps.protocol.text import nearest
from caps.worker.inside.facades.allowlist import FACADES

_AWAIT = "the call was not awaited; write `await` before it"
_BY_NAME = {
    "breakpoint": "there is no debugger here; use `print`",
    "compile": "text is run with `exec` or `eval`",
    "help": "there is no `help` here; use `print(x.__doc__)`",
    "input": "nobody is there to answer; put what the code needs into its source",
    "open": "files are reached as `await caps.files.read(path=...)`, if the policy grants it",
}
_NOT_AWAITED = re.compile(r"'(coroutine|async_generator)' object|object (coroutine|generator) ")


def hint_for(error: BaseException) -> str | None:
    """A hint for `error`, in one line; None if there is nothing to add."""
    message = _builtin_message(error)
    if message is None:
        return None
    kind = type(error)
    if kind in (AttributeError, TypeError) and _NOT_AWAITED.search(message[:200]):
        return _AWAIT
    if kind is NameError:
        return _hint_for_name(error.name if type(error.name) is str else "")  # type: ignore[attr-defined]
    return None


def hint_for_syntax(message: str) -> str | None:
    """The same for a message of the compiler."""
    if "outside async function" in message or "outside function" in message:
        return "`await` belongs into an `async def`, or outside of every function"
    return None


def _hint_for_name(name: str) -> str | None:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in FACADES:
        return f"write `import {name}` first"
    found = nearest(name, [*FACADES, *_BY_NAME], cutoff=0.85, max_characters=None)
    return f"did you mean `{found}`?" if found else None


def _builtin_message(error: Any) -> str | None:
    """The message of a builtin error; None for the user's own classes."""
    if type(error).__module__ != "builtins" or not error.args:
        return None
    text = error.args[0]
    return text if type(text) is str else None
