"""(4) What a person or a model that made a common slip is told beside the error itself."""

from __future__ import annotations

import difflib
import re
from typing import Any

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
    """A line of advice for `error`; None if there is nothing to add."""
    message = _own_text(error)
    if message is None:
        return None
    kind = type(error)
    if kind in (AttributeError, TypeError) and _NOT_AWAITED.search(message[:200]):
        return _AWAIT
    if kind is NameError:
        return _hint_for_name(error.name if type(error.name) is str else "")  # type: ignore[attr-defined]
    return None


def hint_for_syntax(message: str) -> str | None:
    """The same for what the compiler said."""
    if "outside async function" in message or "outside function" in message:
        return "`await` belongs into an `async def`, or outside of every function"
    return None


def _hint_for_name(name: str) -> str | None:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in FACADES:
        return f"write `import {name}` first"
    near = difflib.get_close_matches(name, [*FACADES, *_BY_NAME], n=1, cutoff=0.85)
    return f"did you mean `{near[0]}`?" if near else None


def _own_text(error: Any) -> str | None:
    """The message of an error of Python's own; what the user's classes say is theirs."""
    if type(error).__module__ != "builtins" or not error.args:
        return None
    text = error.args[0]
    return text if type(text) is str else None
