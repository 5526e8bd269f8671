"""(1) The policy in force, and the watch over the file that it came from.

The file is read again every second, by its name, and what counts is its content. A swap of the
links of a mounted ConfigMap, a rename, a write in place and a directory that was replaced are thus
all the same, on file systems without notifications, too; a policy is small and a read is cheap.

A new content is parsed, set against the registry and tested, and workers with the modules that it
grants are started; then it is recorded, and then it is in
force for what starts from there on. A bad one leaves the last good one in force and is recorded
once, when it was found twice, or when three looks in a row found it bad: what is found once may be
half of a write. Executions and sessions
under way keep the revision that they began with.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from caps.capabilities.grant import BoundPolicy
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.telemetry import Metrics
from caps.protocol.errors import AuditError, ConfigurationError, PolicyInvalidError
from caps.security.audit.model.records import PolicyLoaded
from caps.security.audit.log.interface import AuditSink
from caps.security.policy import SecurityPolicy
from caps.security.policies.load import (
    POLICY_PATH_VARIABLE,
    LoadedPolicy,
    PolicySource,
    policy_from_json,
    read_policy,
)

LOOK_SECONDS: Final = 1.0
READ_SECONDS: Final = 5.0
# Bad in another way each time: nobody writes for so long, so it is no half of a write.
_MOST_BAD_LOOKS: Final = 3

logger = logging.getLogger(__name__)


class PolicyInForce:
    """The one place where a runtime's policy changes."""

    def __init__(self, bound: BoundPolicy, metrics: Metrics) -> None:
        self._bound = bound
        self._metrics = metrics
        self._count(1)

    @property
    def bound(self) -> BoundPolicy:
        return self._bound

    def swap(self, bound: BoundPolicy) -> None:
        """From now on `bound` is what executions and sessions begin with."""
        self._count(-1)
        self._bound = bound
        self._count(1)

    def end(self) -> None:
        """The runtime is closed."""
        self._count(-1)

    def _count(self, change: int) -> None:
        self._metrics.count_policy(self._bound.policy.id, self._bound.policy.sha256, change)


def watched_path(source: PolicySource | None, watch: bool | None) -> str | None:
    """The file to watch, if one is: what CAPS_POLICY_PATH names, and other paths when asked to.

    ConfigurationError if `watch` is asked for and the policy is no file.
    """
    if watch is False:
        return None
    if source is None:
        path = os.environ.get(POLICY_PATH_VARIABLE) or None
    elif watch and isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
    else:
        path = None
    if watch and path is None:
        raise ConfigurationError("`watch` needs a policy from a file; this one is none")
    return path


def accepted_record(bound: BoundPolicy) -> PolicyLoaded:
    """That a policy came into force."""
    return PolicyLoaded(
        policy_id=bound.policy.id,
        policy_sha256=bound.policy.sha256,
        source=bound.source,
        status="accepted",
        terms_sha256=bound.terms_sha256,
    )


def refused_record(
    source: str, policy: SecurityPolicy | None, refused: PolicyInvalidError
) -> PolicyLoaded:
    """That a policy did not; `policy` is None if it could not be read."""
    return PolicyLoaded(
        policy_id="(unread)" if policy is None else policy.id,
        policy_sha256="" if policy is None else policy.sha256,
        source=source,
        status="refused",
        message=refused.message,
    )


def _here() -> Path:
    return Path.cwd()


@dataclass(slots=True)
class PolicyWatch:
    """Keeps `in_force` at what the file says."""

    path: str
    registry: CapabilityRegistry
    prove_workers: Callable[[BoundPolicy], Awaitable[None]]
    """Raises if workers for it cannot be had: PolicyInvalidError if that is the policy's fault."""
    audit: AuditSink
    metrics: Metrics
    in_force: PolicyInForce
    every_s: float = LOOK_SECONDS
    read_s: float = READ_SECONDS
    _start: Path = field(default_factory=_here)
    """Where a relative path starts, whatever the program's directory is later."""
    _settled: str | None = None
    _suspected: str | None = None
    _bad_looks: int = 0
    _reading: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that reads the file: one that hangs is not joined by others."""

    async def run(self) -> None:
        """Watch until cancelled. Whatever goes wrong, the last good policy stays in force."""
        while True:
            await anyio.sleep(self.every_s)
            try:
                await self.look()
            except Exception:
                self.metrics.policy_reloads.add(("failed",))
                logger.exception("policy `%s` could not be looked at; it is tried again", self.path)

    async def look(self) -> None:
        """Read the file once, and act on what is new.

        Raises AuditError, and TimeoutError if the file cannot be read in time: nothing was changed.
        """
        try:
            data = await self._read()
        except PolicyInvalidError as error:
            await self._refuse(f"unread: {error.message}", error)
            return
        content = hashlib.sha256(data).hexdigest()
        if content == self._settled:
            self._bad_looks = 0
            return
        loaded: LoadedPolicy | None = None
        try:
            loaded = self._loaded(data)
            bound = self.registry.bind(loaded, guarded=self.in_force.bound.guarded)
            await self.prove_workers(bound)
        except PolicyInvalidError as error:
            await self._refuse(content, error, None if loaded is None else loaded.policy)
            return
        await self._accept(content, bound)

    async def _read(self) -> bytes:
        """The file's content, within a bound: its file system may be gone."""
        if self._reading.locked():
            raise TimeoutError(f"policy `{self.path}` is still being read")
        with anyio.fail_after(self.read_s):
            return await anyio.to_thread.run_sync(self._read_in_thread, abandon_on_cancel=True)

    def _read_in_thread(self) -> bytes:
        with self._reading:
            return read_policy(str(self._start / self.path))

    def _loaded(self, data: bytes) -> LoadedPolicy:
        policy = policy_from_json(data, source=self.path)
        file = self._start / self.path
        return LoadedPolicy(policy, self.path, file.parent, file)

    async def _accept(self, content: str, bound: BoundPolicy) -> None:
        if bound.policy.sha256 != self.in_force.bound.policy.sha256:
            await self._record(accepted_record(bound))
            self.in_force.swap(bound)
            self.metrics.policy_reloads.add(("accepted",))
            logger.info("policy `%s` is in force as %s", self.path, bound.policy.sha256)
        self._settled, self._suspected, self._bad_looks = content, None, 0

    async def _refuse(
        self, content: str, error: PolicyInvalidError, policy: SecurityPolicy | None = None
    ) -> None:
        if content == self._settled:
            return
        self._bad_looks += 1
        if content != self._suspected and self._bad_looks < _MOST_BAD_LOOKS:
            self._suspected = content  # it may be half of a write: look again
            return
        await self._record(refused_record(self.path, policy, error))
        self.metrics.policy_reloads.add(("refused",))
        logger.error("%s; the last good one stays in force", error.message)
        self._settled, self._bad_looks = content, 0

    async def _record(self, event: PolicyLoaded) -> None:
        try:
            await self.audit.append(event)
        except AuditError as error:
            raise AuditError(f"a change of policy cannot be recorded: {error.message}") from error
