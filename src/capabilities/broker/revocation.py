"""(3) Revoking parts of a grant while it is in use.

Executions and open sessions are listed here while they run. Revoking replaces their grant by the
same grant without some capabilities: from then on every decision refuses these, and their calls in
flight are stopped. The capability is revoked first and recorded afterwards, so that it is gone even
if the log cannot be written.
"""

from __future__ import annotations

from typing import Any, Protocol

from caps.capabilities.grant import Grant
from caps.capabilities.telemetry import Metrics
from caps.protocol.errors import ConfigurationError, ExecutionUnknownError
from caps.protocol.text import did_you_mean
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.model.records import GrantRevoked
from caps.security.policies.names import checked_rule, matching_rule, quoted


class GrantHolder(Protocol):
    """An object with a grant: the broker of an execution, or a session between its runs."""

    @property
    def grant(self) -> Grant: ...
    @property
    def channel_id(self) -> str:
        """The same for a session and the execution that runs in it."""

    @property
    def who(self) -> dict[str, Any]:
        """The identity, as in the records of the execution."""

    def revoke(self, capabilities: frozenset[str]) -> None:
        """Remove `capabilities` from the grant, and stop their calls."""


class ActiveGrants:
    """The grants in use in one runtime."""

    def __init__(self) -> None:
        # By identity, in the order in which they were added.
        self._holders: dict[int, GrantHolder] = {}

    def add(self, holder: GrantHolder) -> None:
        """From now on the holder's grant can be revoked; the caller must `remove` it at the end."""
        self._holders[id(holder)] = holder

    def remove(self, holder: GrantHolder) -> None:
        """Remove the holder; may be called again."""
        self._holders.pop(id(holder), None)

    async def revoke(
        self,
        audit: AuditSink,
        metrics: Metrics,
        given_id: str,
        rule: str,
        *,
        by: str | None,
        reason: str | None,
    ) -> tuple[str, ...]:
        """Revoke what `rule` covers for the execution or session of this id; return the names.

        Raises ExecutionUnknownError; ConfigurationError for a rule that matches nothing; and
        AuditError if it could not be recorded: the capabilities are revoked anyway.
        """
        holders = self._of(given_id)
        events = []
        for channel_id in dict.fromkeys(holder.channel_id for holder in holders):
            of_channel = [holder for holder in holders if holder.channel_id == channel_id]
            names = _covered(of_channel, rule)
            for holder in of_channel:
                holder.revoke(names)
            for name in names:
                metrics.revoked.add((name,))
            if names:
                who = of_channel[-1].who  # a run is added after its session
                events.append(
                    GrantRevoked(**who, rule=rule, capabilities=sorted(names), by=by, note=reason)
                )
        for event in events:
            await audit.append(event)
        return tuple(sorted({name for event in events for name in event.capabilities}))

    def _of(self, given_id: str) -> list[GrantHolder]:
        named = {
            holder.channel_id
            for holder in self._holders.values()
            if given_id in (holder.who["execution_id"], holder.who["session"])
        }
        found = [holder for holder in self._holders.values() if holder.channel_id in named]
        if not found:
            raise ExecutionUnknownError(
                f"no execution or session {quoted(given_id)} is running in this runtime; "
                "it has ended, or it runs in another process",
                execution_id=given_id,
            )
        return found


def _covered(holders: list[GrantHolder], rule: str) -> frozenset[str]:
    """The capabilities that the rule covers, that are granted and not yet revoked."""
    try:
        checked_rule(rule)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    grant = holders[0].grant
    registered = [name for name in grant.terms if matching_rule((rule,), name) is not None]
    if not registered:
        hint = did_you_mean(rule, grant.terms)
        raise ConfigurationError(f"no capability {quoted(rule)} is registered{hint}")
    return frozenset(
        name
        for name in registered
        if grant.terms[name].withheld is None
        and any(name not in holder.grant.revoked for holder in holders)
    )
