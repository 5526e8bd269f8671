"""(1) The policy in force, and the reloader that polls the file of the policy.

The file is read again every second, by its name, and only its content counts. So a change of the
links of a mounted ConfigMap, a rename, a write in place and a replaced directory are all handled
alike, also on file systems without notifications; a policy is small and a read is cheap.

New content is parsed, bound to the registry and tested, and workers with the modules that it grants
are started; then it is recorded, and then it is in force for executions and sessions that start
later. Invalid content leaves the last valid policy in force and is recorded once: when two polls
found the same content, or when three polls in a row found invalid content. Content that was found
only once may be an unfinished write. If a runtime has several policies, each file has a reloader of
its own: what happens to one leaves the others as they are. Executions and sessions that are running
keep the revision that they began with.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import msgspec

from caps.capabilities.grant import BoundPolicy
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.telemetry import Metrics
from caps.protocol.environment import Variable
from caps.protocol.errors import AuditError, ConfigurationError, PolicyInvalidError
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.model.records import PolicyLoaded
from caps.security.policies.load import (
    LoadedPolicy,
    PolicySource,
    policy_from_json,
    read_policy,
)
from caps.security.policy import SecurityPolicy

POLL_SECONDS: Final = 1.0
READ_SECONDS: Final = 5.0
# The content may differ each time: no write takes this long, so it is not an unfinished write.
_MAX_BAD_POLLS: Final = 3

logger = logging.getLogger(__name__)


class CurrentPolicy:
    """The one place where a policy of a runtime changes; a runtime has one for each."""

    def __init__(self, bound: BoundPolicy, metrics: Metrics) -> None:
        self.bound = bound
        """Read only, but for `swap`."""
        self._metrics = metrics
        self._count(1)

    def swap(self, bound: BoundPolicy) -> None:
        """From now on executions and sessions begin with `bound`."""
        self._count(-1)
        self.bound = bound
        self._count(1)

    def end(self) -> None:
        """The runtime is closed: the policy is no longer counted as in force."""
        self._count(-1)

    def _count(self, change: int) -> None:
        self._metrics.count_policy(self.bound.policy.id, self.bound.policy.sha256, change)


def watched_paths(
    sources: Sequence[PolicySource | None], watch: bool | None
) -> tuple[str | None, ...]:
    """For each policy the file to watch, if any: that of CAPS_POLICY_PATH by default, other paths
    with `watch`.

    ConfigurationError if `watch` is set and no policy comes from a file.
    """
    found = tuple(None if watch is False else _watched(source, watch) for source in sources)
    if watch and not any(found):
        raise ConfigurationError("`watch` needs a policy from a file; this one is not from a file")
    return found


def _watched(source: PolicySource | None, watch: bool | None) -> str | None:
    if source is None:
        return Variable.POLICY_PATH.read() or None
    if watch and isinstance(source, (str, os.PathLike)):
        return os.fsdecode(source)
    return None


def accepted_record(bound: BoundPolicy) -> PolicyLoaded:
    """The record of a policy that came into force."""
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
    """The record of a policy that was refused; `policy` is None if it could not be read."""
    return PolicyLoaded(
        policy_id="(unread)" if policy is None else policy.id,
        policy_sha256="" if policy is None else policy.sha256,
        source=source,
        status="refused",
        message=refused.message,
    )


class PolicyReloader(msgspec.Struct):
    """Keeps `in_force` equal to the content of the file."""

    path: str
    registry: CapabilityRegistry
    check_workers: Callable[[BoundPolicy], Awaitable[None]]
    """Raises if workers for the policy cannot be started; PolicyInvalidError if it is at fault."""
    audit: AuditSink
    metrics: Metrics
    in_force: CurrentPolicy
    poll_s: float = POLL_SECONDS
    read_s: float = READ_SECONDS
    _start: Path = msgspec.field(default_factory=Path.cwd)
    """Where a relative path starts, even if the program changes its directory later."""
    _handled: str | None = None
    """The digest of the content that was accepted or refused last."""
    _suspected: str | None = None
    """The digest of invalid content that was found once."""
    _bad_polls: int = 0
    _reading: threading.Lock = msgspec.field(default_factory=threading.Lock)
    """Held by the thread that reads the file: while it hangs, no other thread is started."""

    async def run(self) -> None:
        """Poll until cancelled. Whatever goes wrong, the last valid policy stays in force."""
        while True:
            await anyio.sleep(self.poll_s)
            try:
                await self.poll()
            except Exception:
                self.metrics.policy_reloads.add(("failed",))
                logger.exception("policy `%s` could not be checked; it is tried again", self.path)

    async def poll(self) -> None:
        """Read the file once, and handle new content.

        Raises AuditError, and TimeoutError if the file cannot be read in time; then nothing was
        changed.
        """
        try:
            data = await self._read()
        except PolicyInvalidError as error:
            await self._refuse(f"unread: {error.message}", error)
            return
        content = hashlib.sha256(data).hexdigest()
        if content == self._handled:
            self._bad_polls = 0
            return
        loaded: LoadedPolicy | None = None
        try:
            loaded = self._loaded(data)
            bound = self.registry.bind(loaded, guarded=self.in_force.bound.guarded)
            await self.check_workers(bound)
        except PolicyInvalidError as error:
            await self._refuse(content, error, None if loaded is None else loaded.policy)
            return
        await self._accept(content, bound)

    async def _read(self) -> bytes:
        """The file's content, with a timeout: its file system may not answer."""
        if self._reading.locked():
            raise TimeoutError(f"policy `{self.path}` is still being read")
        with anyio.fail_after(self.read_s):
            # With a limiter of its own, so that it never waits for other work.
            return await anyio.to_thread.run_sync(
                self._read_in_thread, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
            )

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
        self._handled, self._suspected, self._bad_polls = content, None, 0

    async def _refuse(
        self, content: str, error: PolicyInvalidError, policy: SecurityPolicy | None = None
    ) -> None:
        if content == self._handled:
            return
        self._bad_polls += 1
        if content != self._suspected and self._bad_polls < _MAX_BAD_POLLS:
            self._suspected = content  # it may be an unfinished write: poll again
            return
        await self._record(refused_record(self.path, policy, error))
        self.metrics.policy_reloads.add(("refused",))
        logger.error("%s; the last good one stays in force", error.message)
        self._handled, self._bad_polls = content, 0

    async def _record(self, event: PolicyLoaded) -> None:
        try:
            await self.audit.append(event)
        except AuditError as error:
            raise AuditError(f"a change of policy cannot be recorded: {error.message}") from error
