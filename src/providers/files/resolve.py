"""The place of a path under the scope of each policy, and opening it: the same file under all.

A path has one meaning under several scopes (`FilesScope.following`), but each scope has a root of
its own, and a link may lead out of one root and not out of another. So a path is opened beneath
the root of every scope, each checked by the kernel, and what is found must be the same file (device
and inode) each time. While they are compared all of them are open, so that the number of a deleted
file cannot be reused. Only then one of the descriptors is used. Each scope alone would have allowed
what is used, at the moment at which it was asked: nothing is checked first and opened later.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec

from caps.capabilities.provider import CallContext, ScopeViolationError
from caps.protocol.text import printable
from caps.providers.files.denied import place_beneath, places_beneath
from caps.providers.files.openat2 import open_beneath, opened_root, require_regular
from caps.providers.files.os_errors import as_provider_error
from caps.providers.files.path_text import components
from caps.providers.files.scope import FilesScope, Place
from caps.providers.files.scope_labels import add_labels_of_open, add_labels_of_place


class Target(msgspec.Struct, frozen=True):
    """What a call is about: the place of its path under each scope, the caller's own one last."""

    scopes: tuple[FilesScope, ...]
    places: tuple[Place, ...]

    @property
    def shown(self) -> str:
        """The path as the caller gave it."""
        return self.places[-1].shown

    @property
    def name(self) -> str:
        """The last component, the same under all scopes."""
        return self.places[-1].parts[-1]

    @property
    def depth(self) -> int:
        """How many components lie beneath the roots of all scopes."""
        return min(len(place.parts) for place in self.places)

    @property
    def max_bytes(self) -> int:
        return min(scope.max_bytes for scope in self.scopes)

    @property
    def read_only(self) -> bool:
        return any(scope.read_only for scope in self.scopes)

    def too_large(self) -> ScopeViolationError:
        """The error for a file of more than `max_bytes`."""
        scope = min(self.scopes, key=lambda each: each.max_bytes)
        what = f"`{printable(self.shown)}` is larger than the {scope.max_bytes} bytes allowed"
        return ScopeViolationError("max_bytes", what, scope=scope)


def resolve_target(
    context: CallContext, function: str, payload: Mapping[str, Any], argument: str = "path"
) -> Target:
    """The target that `argument` names in this call.

    Raises `ScopeViolationError` of the first scope that refuses the call.
    """
    scopes, places = context.scopes_as(FilesScope), []
    for scope in scopes:
        violation = scope.violation(function, payload)
        if violation is not None:
            raise ScopeViolationError(violation.rule, violation.message, scope=scope)
        place = scope.place(payload[argument])
        assert place is not None  # else there is a violation
        places.append(place)
        # Also if the call fails later: that something is not there is an answer about the place.
        add_labels_of_place(context, scope.labels, f"{place.root.entry}/{place.beneath}")
    return Target(scopes, tuple(places))


def label_open(context: CallContext, target: Target, descriptor: int) -> None:
    """Label the answer by where the opened target is, under each scope."""
    for scope in target.scopes:
        add_labels_of_open(context, scope.labels, descriptor)


class OpenTarget:
    """A target whose roots are open. Made by `opened_target`."""

    def __init__(self, target: Target, roots: list[int]) -> None:
        self._target = target
        self._roots = roots
        # Where the allowed directories are, with links followed.
        self._tops = {
            scope.allowlist: [components(os.path.realpath(entry)) for entry in scope.allowlist]
            for scope in target.scopes
            if scope.denylist
        }

    @contextmanager
    def opened(self, flags: int, *, above: int = 0) -> Iterator[int]:
        """The target itself, or the directory `above` components above it; closed at the end.

        Raises as `open_beneath`, a refusal of one scope before an error of another.
        """
        *others, own = range(len(self._roots))
        found: list[int] = []
        failed: OSError | None = None
        with ExitStack() as stack:
            for index in others:
                try:
                    found.append(self._open(index, os.O_PATH | (flags & os.O_DIRECTORY), above))
                    stack.callback(os.close, found[-1])
                except OSError as error:
                    failed = failed or error
            descriptor = self._open(own, flags, above)
            stack.callback(os.close, descriptor)
            if failed is not None:
                raise failed
            for index, other in zip(others, found, strict=True):
                if not os.path.samestat(os.fstat(other), os.fstat(descriptor)):
                    raise self._elsewhere(index)
            self.require_not_denied(descriptor, self._names(above))
            yield descriptor

    def require_not_denied(self, descriptor: int, names: Sequence[str]) -> None:
        """ScopeViolationError if a denylist matches the place of `names` beneath `descriptor`."""
        target = self._target
        for scope, place, root in zip(target.scopes, target.places, self._roots, strict=True):
            if not scope.denylist:
                continue
            own, others = place_beneath(root, descriptor), self._tops[scope.allowlist]
            for parts in (own, *places_beneath(others, descriptor)):
                denial = scope.denial(place, (*parts, *names))
                if denial is not None:
                    raise ScopeViolationError(denial.rule, denial.message, scope=scope)

    def is_denied(self, descriptor: int, *names: str) -> bool:
        """Whether a denylist matches the place of `names` beneath `descriptor`."""
        try:
            self.require_not_denied(descriptor, names)
        except ScopeViolationError:
            return True
        return False

    def _names(self, above: int) -> tuple[str, ...]:
        """The last components of the target, those below the directory `above` it."""
        parts = self._target.places[-1].parts
        return parts[len(parts) - above :]

    @contextmanager
    def opened_regular(self) -> Iterator[int]:
        """A regular file, open for reading; `ProviderError` if it is anything else."""
        shown = self._target.shown
        with self.opened(os.O_PATH) as probe:
            require_regular(os.fstat(probe), shown)
        # It may have been replaced in the meantime, so O_NONBLOCK and O_NOCTTY keep the opening
        # harmless, and what was opened is checked again. The kernel ensures that it is beneath.
        with self.opened(os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY) as descriptor:
            require_regular(os.fstat(descriptor), shown)
            yield descriptor

    def _open(self, index: int, flags: int, above: int) -> int:
        """Open it beneath the root of one scope; the caller closes the descriptor."""
        parts = self._target.places[index].parts
        path = "/".join(parts[: len(parts) - above]) or "."
        try:
            return open_beneath(self._roots[index], path, flags)
        except ScopeViolationError as error:
            rule, message = error.violation.rule, error.violation.message
            raise ScopeViolationError(rule, message, scope=self._target.scopes[index]) from error

    def _elsewhere(self, index: int) -> ScopeViolationError:
        what = f"`{printable(self._target.shown)}` is another file under another policy"
        return ScopeViolationError("allowlist", what, scope=self._target.scopes[index])


@contextmanager
def opened_target(target: Target) -> Iterator[OpenTarget]:
    """`target` with its roots open; errors of the file system become ProviderErrors."""
    with as_provider_error(target.shown), ExitStack() as stack:
        roots = [stack.enter_context(opened_root(place.root.entry)) for place in target.places]
        yield OpenTarget(target, roots)
