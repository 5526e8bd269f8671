"""The scope of the `session_files` domain: whether files may be changed, and how many there may be.

All rules that can be checked on the payload alone, without IO:

- `read_only` refuses `write` and `delete`;
- `max_file_bytes` bounds the content of a write, in bytes after decoding base64;
- `max_depth` bounds the number of names in a path that is written;
- an unknown function is refused.

The provider checks `max_total_bytes` and `max_files`, which need the store, and bounds what is read
by `max_file_bytes`. Under several policies the lowest number counts. There is no list of paths: the
tree of a session belongs to one principal and one session, and has nothing else in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field

from caps.capabilities.file_content import content_size
from caps.capabilities.provider import Scope, Violation
from caps.protocol.text import printable
from caps.store.session_paths import depth_of, normalised

if TYPE_CHECKING:
    from caps.security.review.scope_answers import ObservedArguments, ScopeChange, ScopeProposal
    from caps.security.review.width import Breadth

# A request of user space holds no more, and a result with as much in base64 fits the channel.
MAX_FILE_BYTES = 8 * 1024 * 1024
MAX_TOTAL_BYTES = 1024 * 1024 * 1024
MAX_FILES = 100_000
MAX_DEPTH = 64

_READING = frozenset({"grep", "list", "read", "stat"})
_CHANGING = frozenset({"delete", "write"})
_NUMBERS = ("max_file_bytes", "max_total_bytes", "max_files", "max_depth")


class SessionFilesScope(Scope):
    """`scopes.session_files` of a policy."""

    read_only: bool = False
    max_file_bytes: Annotated[int, Field(gt=0, le=MAX_FILE_BYTES)] = 1024 * 1024
    max_total_bytes: Annotated[int, Field(gt=0, le=MAX_TOTAL_BYTES)] = 16 * 1024 * 1024
    max_files: Annotated[int, Field(gt=0, le=MAX_FILES)] = 1000
    max_depth: Annotated[int, Field(gt=0, le=MAX_DEPTH)] = 16

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        """Pure, and never raises, whatever is in `payload`."""
        if function not in _READING and function not in _CHANGING:
            return Violation("read_only", f"the scope knows no function `{function}`")
        if self.read_only and function in _CHANGING:
            return Violation("read_only", f"the policy allows no `session_files.{function}`")
        if function != "write" or not isinstance(payload, Mapping):
            return None
        return self._depth_violation(payload.get("path")) or self._size_violation(payload)

    def _depth_violation(self, path: object) -> Violation | None:
        depth = _depth(path)
        if depth is None or depth <= self.max_depth:
            return None  # a path that is not valid: the provider says what is wrong with it
        return Violation(
            "max_depth",
            f"`{printable(str(path))}` is deeper than the {self.max_depth} names allowed",
        )

    def _size_violation(self, payload: Mapping[str, Any]) -> Violation | None:
        size = _size(payload, counted=self.max_file_bytes)
        if size is None or size <= self.max_file_bytes:
            return None
        return Violation(
            "max_file_bytes", f"`content` is larger than the {self.max_file_bytes} bytes allowed"
        )

    # From here on: the answers for tools that review policies. Nothing here decides about calls,
    # and its imports are late.

    def fields_of(self, function: str) -> Mapping[str, AbstractSet[str]] | None:
        writes = function == "write"
        return {
            "read_only": frozenset(),
            "max_file_bytes": frozenset({"content", "encoding"} if writes else ()),
            "max_total_bytes": frozenset(),
            "max_files": frozenset(),
            "max_depth": frozenset({"path"} if writes else ()),
        }

    def never(self, function: str) -> str | None:
        return "read_only" if self.read_only and function in _CHANGING else None

    def change_for(self, function: str, payload: Mapping[str, Any]) -> ScopeChange | None:
        """Permit changes, or raise the number for this payload."""
        from caps.security.review.scope_answers import ScopeChange

        violation = self.violation(function, payload)
        match violation.rule if violation else None:
            case "read_only" if function in _CHANGING:
                return ScopeChange("read_only", False, False, "changes of the session's files")
            case "max_file_bytes":
                size = _size(payload, counted=MAX_FILE_BYTES)
                if size is None or size > MAX_FILE_BYTES:
                    return None
                return ScopeChange("max_file_bytes", size, False, f"files of up to {size} bytes")
            case "max_depth":
                depth = _depth(payload.get("path"))
                if depth is None or depth > MAX_DEPTH:
                    return None
                return ScopeChange("max_depth", depth, False, f"paths of up to {depth} names")
            case _:
                return None

    def widths_to(self, newer: Scope) -> dict[str, Breadth]:
        from caps.security.review.width import width_of

        if not isinstance(newer, SessionFilesScope):
            return super().widths_to(newer)
        widths = {
            "read_only": width_of(
                more=self.read_only and not newer.read_only,
                less=newer.read_only and not self.read_only,
            )
        }
        for key in _NUMBERS:
            older, changed = getattr(self, key), getattr(newer, key)
            widths[key] = width_of(more=changed > older, less=changed < older)
        return widths

    @classmethod
    def covering(
        cls, calls: Sequence[ObservedArguments], held: Self | None
    ) -> ScopeProposal | None:
        """The numbers that the calls were made under; read only if nothing was changed."""
        from caps.security.review.scope_answers import ProposedPart, ScopeProposal

        numbers = {} if held is None else {key: getattr(held, key) for key in _NUMBERS}
        changes = any(call.function in _CHANGING for call in calls)
        scope = {**({} if changes else {"read_only": True}), **numbers}
        every = tuple(range(len(calls)))
        parts = [ProposedPart((key,), every, "as in the policy of these calls") for key in numbers]
        if not changes:
            parts.insert(0, ProposedPart(("read_only",), every, "no call changes a file"))
        return ScopeProposal(scope, tuple(parts))


def _depth(path: object) -> int | None:
    """The number of names in a path; None if it is not valid."""
    try:
        return depth_of(normalised(path)) if isinstance(path, str) else None
    except ValueError:
        return None


def _size(payload: Mapping[str, Any], counted: int) -> int | None:
    content, encoding = payload.get("content"), payload.get("encoding", "text")
    return content_size(content, encoding, counted=counted)
