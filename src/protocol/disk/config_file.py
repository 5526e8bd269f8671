"""The configuration file that `CAPS_CONFIG` names: values of variables, as TOML or JSON.

`audit.path` is `CAPS_AUDIT_PATH`: the word after the prefix is the table. A key that no variable
has, or a value of a wrong kind, is an error: otherwise a misspelt setting would do nothing. It is
read once by a process.
"""

from __future__ import annotations

import functools
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from caps.protocol.disk.regular_files import open_regular
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import did_you_mean, printable

MAX_CONFIG_BYTES: Final = 1024 * 1024
_OTHERS: Final = 0o007
_BY_SETTING: Final = {each.setting: each for each in Variable if each is not Variable.CONFIG}


@functools.lru_cache(maxsize=8)
def configured_values(path: str) -> Mapping[Variable, str]:
    """The variables that the file sets. Raises ConfigurationError."""
    data, mode = _read(path)
    found = {
        variable: _text(path, setting, value)
        for setting, value in _flat(_parsed(path, data))
        for variable in [_variable(path, setting)]
    }
    if mode & _OTHERS and any(variable.masked for variable in found):
        raise _refusal(path, "has a secret and is open to every user; run `chmod 600` on it")
    return found


def _read(path: str) -> tuple[bytes, int]:
    try:
        with open_regular(Path(path)) as file:
            data = file.read(MAX_CONFIG_BYTES + 1) or b""
            mode = os.fstat(file.fileno()).st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not the name of a file"
        raise _refusal(path, f"cannot be read: {reason.lower()}") from None
    if len(data) > MAX_CONFIG_BYTES:
        raise _refusal(path, f"is larger than {MAX_CONFIG_BYTES} bytes")
    return data, mode


def _parsed(path: str, data: bytes) -> dict[str, Any]:
    try:
        text = data.decode("utf-8")
        if path.endswith(".toml"):
            return tomllib.loads(text)
        if not path.endswith(".json"):
            raise _refusal(path, "has an unknown kind; name it `.toml` or `.json`")
        value = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        # Its text may quote the file, so only the place is shown.
        line = getattr(error, "lineno", None)
        where = "" if line is None else f", line {line}"
        raise _refusal(path, f"cannot be parsed{where}") from None
    if not isinstance(value, dict):
        raise _refusal(path, "must be an object")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)


def _flat(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if not isinstance(item, dict):
            yield key, item
            continue
        for inner, setting in item.items():
            yield f"{key}.{inner}", setting


def _variable(path: str, setting: str) -> Variable:
    found = _BY_SETTING.get(setting)
    if found is None:
        hint = did_you_mean(setting, _BY_SETTING)
        raise _refusal(path, f"has an unknown setting `{printable(setting, 120)}`{hint}")
    return found


def _text(path: str, setting: str, value: object) -> str:
    """The value as a variable would have it. A list is separated by spaces."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int | str):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return " ".join(value)
    raise _refusal(path, f"needs a string or an integer in `{printable(setting, 120)}`")


def _refusal(path: str, what: str) -> ConfigurationError:
    return ConfigurationError(f"the configuration file `{printable(path, 300)}` {what}")
