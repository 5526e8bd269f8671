"""(3) Taking a grant back while it is in use.

Executions and open sessions are listed here for as long as they live. To revoke is to replace what
they hold by the same grant without some capabilities: from then on every decision refuses them,
and calls of them that are under way are stopped. The power is taken first and recorded then, so
that a log that cannot be written does not leave it in place.
"""

from __future__ import annotations

from typing import Any, Protocol

from caps.capabilities.grant import Grant
from caps.capabilities.telemetry import Metrics
from caps.protocol.errors import ConfigurationError, ExecutionUnknownError
from caps.security.audit.model.records import GrantRevoked
from caps.security.audit.log.interface import AuditSink
from caps.security.policies.names import checked_rule, matching_rule, nearest, quoted


class GrantHolder(Protocol):
    """Who holds a grant: the broker of an execution, or a session between its runs."""

    @property
    def grant(self) -> Grant: ...
    @property
    def channel_id(self) -> str:
        """The same for a session and the execution that runs in it."""

    @property
    def who(self) -> dict[str, Any]:
        """As records of the execution say it."""

    def revoke(self, capabilities: frozenset[str]) -> None:
        """Go on without `capabilities`, and stop their calls."""


class LiveGrants:
    """The grants in use in one runtime."""

    def __init__(self) -> None:
        # By identity, in the order in which they came.
        self._holders: dict[int, GrantHolder] = {}

    def add(self, holder: GrantHolder) -> None:
        """From now on the holder's grant can be revoked; `remove` it in the end."""
        self._holders[id(holder)] = holder

    def remove(self, holder: GrantHolder) -> None:
        """May be repeated."""
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
        """Take back what `rule` covers from the execution or session of this id; what it was.

        Raises ExecutionUnknownError; ConfigurationError for a rule that can cover nothing; and
        AuditError, the grant being revoked all the same.
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
                who = of_channel[-1].who  # a run of a session comes after the session
                taken = sorted(names)
                events.append(
                    GrantRevoked(**who, rule=rule, capabilities=taken, by=by, note=reason)
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
                f"no execution or session {quoted(given_id)} is under way in this runtime; "
                "it has ended, or it runs in another process",
                execution_id=given_id,
            )
        return found


def _covered(holders: list[GrantHolder], rule: str) -> frozenset[str]:
    """What the rule takes that is granted and not revoked yet."""
    try:
        checked_rule(rule)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    grant = holders[0].grant
    registered = [name for name in grant.terms if matching_rule((rule,), name) is not None]
    if not registered:
        meant = nearest(rule, grant.terms)
        hint = f"; did you mean `{meant}`?" if meant else ""
        raise ConfigurationError(f"no capability {quoted(rule)} is registered{hint}")
    return frozenset(
        name
        for name in registered
        if grant.terms[name].withheld is None
        and any(name not in holder.grant.revoked for holder in holders)
    )
