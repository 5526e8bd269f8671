"""(1) Loading a policy from a file, a dictionary, or the environment.

Reading a policy either gives a whole, valid policy or one `PolicyInvalidError` that says in one
line which policy, what is wrong and where; there is no partial result and nothing is guessed. JSON
is read more strictly than Python does: a key given twice, `NaN` or an integer that other readers
would round are errors, because two readers could understand two different policies.

Relative paths inside scopes start at the directory of the file (`LoadedPolicy.base`). It is the
directory of the given name, with links not followed: where the file is a symbolic link, as in a
mounted ConfigMap, the target moves with every update and the name does not.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from caps.protocol.environment import Variable
from caps.protocol.errors import PolicyInvalidError
from caps.protocol.text import nearest, printable
from caps.security.policies.flow_rules import FlowRule
from caps.security.policies.names import MAX_QUOTED, quoted
from caps.security.policies.plain_json import NotJsonError, plain_json
from caps.security.policies.protected_paths import POLICY_FILE, ProtectedPath
from caps.security.policies.strict_json import strict_json
from caps.security.policy import (
    Limits,
    PolicyTest,
    SecurityPolicy,
)

MAX_POLICY_BYTES: Final = 1024 * 1024
# The number of problems that an error lists; each costs a search for the key that was meant.
_MAX_PROBLEMS = 100

# The id of the empty policy, so that a denial shows that no policy was given.
NO_POLICY_ID = "no-policy-given"

PolicySource = SecurityPolicy | Mapping[str, Any] | str | os.PathLike[str]
# Of several policies each must allow.
Policies = PolicySource | Sequence[PolicySource]
Given = TypeVar("Given")
_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy, the name of its source, and where relative paths in its scopes start."""

    policy: SecurityPolicy
    source: str
    base: Path
    file: Path | None = None
    """The file that it was read from, if any."""

    @property
    def protected(self) -> tuple[ProtectedPath, ...]:
        """The files that its own scopes must not let code change."""
        return () if self.file is None else (ProtectedPath(POLICY_FILE, self.file),)


def load_policy(source: PolicySource | None = None) -> LoadedPolicy:
    """The policy of `source`: a `SecurityPolicy`, a dictionary, or the path of a JSON file.

    Without a source, the file that `CAPS_POLICY_PATH` names; without that, the empty policy, which
    denies everything. Raises `PolicyInvalidError`.
    """
    if source is None:
        path = Variable.POLICY_PATH.read()
        if path:
            return _load_file(path)
        return LoadedPolicy(SecurityPolicy(id=NO_POLICY_ID), "default", Path.cwd())
    if isinstance(source, SecurityPolicy):
        if not source.sha256:
            # `model_construct` and the like: nothing in it was checked.
            raise _invalid("object", "was not validated; build it with `SecurityPolicy(...)`")
        return LoadedPolicy(source, "object", Path.cwd())
    if isinstance(source, Mapping):
        return LoadedPolicy(_validated("dict", dict(source)), "dict", Path.cwd())
    return _load_file(source)


def listed(given: Given | Sequence[Given]) -> tuple[Given, ...]:
    """The policies of an argument that is one policy or a list of them."""
    return tuple(given) if isinstance(given, (list, tuple)) else (cast("Given", given),)


def is_policy_given(sources: tuple[PolicySource | None, ...]) -> bool:
    """Whether there is a policy at all, or only the empty one that stands for none."""
    return sources != (None,) or bool(Variable.POLICY_PATH.read())


def policy_path(source: PolicySource | None) -> Path | None:
    """The file that `load_policy(source)` reads, if it reads one."""
    if source is None:
        source = Variable.POLICY_PATH.read() or {}
    if isinstance(source, (SecurityPolicy, Mapping)):
        return None
    try:
        return Path(os.fsdecode(source)).absolute()
    except TypeError:
        return None  # `load_policy` says what is wrong with it


def _load_file(path: str | os.PathLike[str]) -> LoadedPolicy:
    try:
        label = os.fsdecode(path)
    except TypeError:
        kind = type(path).__name__
        raise _invalid(kind, "should be a path, a dictionary or a `SecurityPolicy`") from None
    policy = policy_from_json(read_policy(label), source=label)
    file = Path(label).absolute()
    return LoadedPolicy(policy, label, file.parent, file)


def policy_from_json(data: bytes, *, source: str) -> SecurityPolicy:
    """The policy in the JSON text `data`; `source` is its name in errors."""
    if len(data) > MAX_POLICY_BYTES:
        raise _invalid(source, f"larger than {MAX_POLICY_BYTES} bytes")
    value = _parsed(source, _decoded(source, data))
    try:
        value = plain_json(value)
    except NotJsonError as error:
        raise _invalid(source, str(error), json_place(error.path)) from None
    if not isinstance(value, dict):
        raise _invalid(source, f"should be an object, got {json_kind(value)}", "line 1 column 1")
    return _validated(source, value)


def read_policy(path: str) -> bytes:
    """The bytes of a policy file, at most one over the limit. Raises `PolicyInvalidError`."""
    try:
        # Non-blocking: opening a pipe, for example, would wait until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            kind = os.fstat(descriptor).st_mode
            if stat.S_ISDIR(kind):
                raise _invalid(path, "is a directory, name a JSON file in it")
            if not stat.S_ISREG(kind):
                raise _invalid(path, "is not a regular file")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data: bytes | None = file.read(MAX_POLICY_BYTES + 1)
            if data is None:  # a file of the kernel that has something to read only now and then
                raise _invalid(path, "cannot be read, it has nothing to read now")
            return data
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise _invalid(path, "no such file") from None
    except PermissionError:
        raise _invalid(path, "cannot be read, permission denied") from None
    except OSError as error:
        reason = (error.strerror or "input/output error").lower()
        raise _invalid(path, f"cannot be read, {reason}") from error
    except ValueError:
        # A null byte, or half of a surrogate pair: not possible in the name of a file.
        raise _invalid(path, "cannot be the name of a file") from None


def _decoded(source: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise _invalid(source, "is not UTF-8", f"line {line} column {column}") from None


def _parsed(source: str, text: str) -> Any:
    try:
        return strict_json(text)
    except json.JSONDecodeError as error:
        what = f"is not JSON, {error.msg[:1].lower()}{error.msg[1:]}"
        raise _invalid(source, what, f"line {error.lineno} column {error.colno}") from None
    except NotJsonError as error:
        place = (json_place(error.path),) if error.path else ()
        raise _invalid(source, str(error), *place) from None


def _validated(source: str, value: dict[str, Any]) -> SecurityPolicy:
    try:
        return SecurityPolicy.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False)
        problems = [_problem(details) for details in found[:_MAX_PROBLEMS]]
        more = len(found) - 1
    first = problems[0]
    suffix = f" (and {more} more)" if more else ""
    raise _invalid(source, first["what"], first["place"], suffix, problems)


def _problem(error: ErrorDetails) -> dict[str, str]:
    """One of Pydantic's errors in our format: what is wrong, and where."""
    # For an error in a key of a mapping, Pydantic adds a last step that is not in the document.
    path: _Path = error["loc"][:-1] if error["loc"][-1:] == ("[key]",) else error["loc"]
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, NotJsonError):
        path = (*path, *cause.path)
    return {"what": _what(error), "place": json_place(path)}


def _what(error: ErrorDetails) -> str:
    match error["type"]:
        case "extra_forbidden":
            return _unknown_key(error["loc"])
        case "string_pattern_mismatch":
            return "should be letters, digits, `.`, `_` and `-` only"
        case _:
            return json_problem(error)


def first_error(error: ValidationError) -> ErrorDetails:
    """The one to name. A misspelt key comes first: it explains why the right one is missing."""
    errors = error.errors(include_url=False)
    return min(errors, key=lambda each: each["type"] != "extra_forbidden")


def json_problem(error: ErrorDetails) -> str:
    """What is wrong with a JSON value, in our words instead of Pydantic's."""
    got = json_kind(error["input"])
    match error["type"]:
        case "missing":
            return "missing key"
        case "tuple_type":
            return f"should be an array, got {got}"
        case "dict_type" | "model_type":
            return f"should be an object, got {got}"
        case "int_type":
            return f"should be an integer, got {got}"
        case "string_type":
            return f"should be a string, got {got}"
        case "too_long":
            return f"should have at most {error['ctx']['max_length']} items"
        case "too_short":
            least = error["ctx"]["min_length"]
            return f"should have at least {least} item{'' if least == 1 else 's'}"
        case "value_error":
            return str(error["ctx"]["error"])
        case _:
            what = error["msg"].removeprefix("Input ").removeprefix("String ").replace("'", "`")
            return printable(what[:1].lower() + what[1:], MAX_QUOTED)


def _unknown_key(path: _Path) -> str:
    if path == ("$schema",):
        return "should be a string"
    meant = nearest(str(path[-1]), _known_keys(path[:-1]))
    return f"unknown key (did you mean `{meant}`?)" if meant else "unknown key"


def _known_keys(path: _Path) -> list[str]:
    model: type[BaseModel] = SecurityPolicy
    if path[:1] == ("limits",):
        model = Limits
    elif path[:1] == ("tests",):
        model = PolicyTest
    elif path[:1] == ("flows",):
        model = FlowRule
    return [field.alias or name for name, field in model.model_fields.items()]


def json_kind(value: object) -> str:
    """The JSON name of the type of `value`; never the value itself."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case Mapping():
            return "object"
        case _:
            return quoted(type(value).__name__)


def json_place(path: _Path) -> str:
    """`limits.wall_ms`, `allow[1]`, `limits.rates["web.fetch"]`."""
    place = ""
    for step in path:
        if isinstance(step, int):
            place += f"[{step}]"
        elif step.isidentifier():
            place += f".{step}" if place else step
        else:
            shown = printable(step, MAX_QUOTED)
            place += f'["{shown}"]' if place else shown
    return place or "top level"


def _invalid(
    source: str,
    what: str,
    place: str | None = None,
    suffix: str = "",
    problems: list[dict[str, str]] | None = None,
) -> PolicyInvalidError:
    where = ""
    if place is not None:
        where = f" at {place}" if place.startswith("line ") else f" at {quoted(place)}"
    problems = problems or [{"what": what, "place": place or ""}]
    return PolicyInvalidError(
        f"policy {quoted(source)}: {what}{where}{suffix}",
        source=source,
        place=place,
        problems=problems,
    )
