"""(8) The records of the start and the end of an execution, as text that is cut out once.

All executions under the same policies have the same two records, but for their ids, the caller, the
digest of the source, and what was used. Only a usual execution has these: it is given no inputs, is
not traced, has no parent, and ends with a value. Others are recorded as events, which remain the
definition: `tests/properties/test_prepared_executions.py` compares the bytes of both.
"""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

import msgspec

from caps.capabilities.chain import PolicyChain
from caps.capabilities.identity import Identity
from caps.protocol.ways import Via
from caps.security.audit.model.chain import EncodedRecord
from caps.security.audit.model.records import (
    AuditEvent,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
)
from caps.security.audit.model.templates import (
    cut_out,
    is_plain_id,
    is_plain_text,
    number_mark,
    text_mark,
)
from caps.worker.host.process.worker import ResourceUsage

STARTED: Final = "execution_started"
ENDED: Final = "execution_ended"

Pieces = tuple[str, ...]


class ExecutionTexts(NamedTuple):
    """The pieces of both records, and what is inserted into both of them."""

    pieces: tuple[Pieces, Pieces, Pieces]
    execution_id: str
    principal: str
    session: str

    def started(self, source_sha256: str) -> EncodedRecord:
        """The record of the start. The log inserts `signed_seq` at the NUL."""
        a, b, to_prev, c, d, e, f, g, h, rest = self.pieces[0]
        return (
            f"{a}{self.execution_id}{b}",
            to_prev,
            f"{c}{self.principal}{d}",
            f"{e}{self.session}{f}\0{g}{source_sha256}{h}",
            rest,
        )

    def ended(
        self, calls: int, output_bytes: int, duration_us: int, used: ResourceUsage
    ) -> EncodedRecord:
        """The record of the end, with a value."""
        peak = used.max_rss_kb
        if peak is None:
            a, b, c, d, e, to_size, f, g, h, i, j, k, rest = self.pieces[1]
        else:
            a, b, c, d, e, to_peak, to_size, f, g, h, i, j, k, rest = self.pieces[2]
            to_size = f"{to_peak}{peak}{to_size}"
        return (
            f"{a}{calls}{b}{used.cpu_us}{c}{duration_us}{d}{self.execution_id}{e}",
            f"{to_size}{output_bytes}{f}",
            f"{g}{self.principal}{h}",
            f"{i}{self.session}{j}\0{k}",
            rest,
        )


def texts_for(
    identity: Identity,
    execution_id: str,
    chain: PolicyChain,
    isolation: tuple[tuple[str, str], ...],
    degraded: str | None,
    *,
    learning: bool,
) -> ExecutionTexts | None:
    """The texts of one execution; None if one of them has to be bounded or escaped."""
    principal, session = identity.principal, identity.session
    if not (is_plain_id(execution_id) and is_plain_text(principal)):
        return None
    if session is not None and not is_plain_text(session):
        return None
    has_session = session is not None
    pieces = _cut_out(
        identity.agent, identity.via, chain, isolation, degraded, has_session, learning
    )
    if pieces is None:
        return None
    return ExecutionTexts(pieces, execution_id, principal, session or "")


@functools.lru_cache(maxsize=64)
def _cut_out(
    agent: str | None,
    via: Via,
    chain: PolicyChain,
    isolation: tuple[tuple[str, str], ...],
    degraded: str | None,
    has_session: bool,
    learning: bool,
) -> tuple[Pieces, Pieces, Pieces] | None:
    """The pieces of the start, and of the end without and with the peak memory.

    The result depends on the arguments only, so it is cached.
    """
    mark, principal, session, sha = (text_mark() for _ in range(4))
    calls, cpu, took, size, peak, signed = (number_mark() for _ in range(6))
    who: dict[str, Any] = {"execution_id": mark, "principal": principal, "agent": agent}
    who |= {"via": via, "degraded": degraded, "session": session if has_session else None}
    started = started_event(who, chain, isolation, learning=learning, source_sha256=sha)
    used: dict[str, Any] = {"calls": calls, "cpu_us": cpu, "duration_us": took}
    used |= {"output_bytes": size, "status": ExecutionStatus.OK}
    events: tuple[AuditEvent, ...] = (
        msgspec.structs.replace(started, signed_seq=signed),
        ExecutionEnded(**who, **used, signed_seq=signed),
        ExecutionEnded(**who, **used, signed_seq=signed, max_rss_kb=peak),
    )
    to_signed = (*([session] if has_session else ()), f'"signed_seq":{signed},')
    in_body = (calls, cpu, took, mark)
    places: tuple[tuple[tuple[object, ...], ...], ...] = (
        ((mark,), (), (principal,), (*to_signed, sha), ()),
        (in_body, (size,), (principal,), to_signed, ()),
        (in_body, (peak, size), (principal,), to_signed, ()),
    )
    first, second, third = map(cut_out, events, places)
    if first is None or second is None or third is None:
        return None
    if has_session:
        return first, second, third
    # Where a session would be inserted, nothing is.
    return _with_gap(first, -4), _with_gap(second, -3), _with_gap(third, -3)


def _with_gap(pieces: Pieces, after: int) -> Pieces:
    return *pieces[: after + 1], "", *pieces[after + 1 :]


def started_event(
    who: dict[str, Any],
    chain: PolicyChain,
    isolation: tuple[tuple[str, str], ...],
    *,
    learning: bool,
    source_sha256: str,
) -> ExecutionStarted:
    """The event of a start that was given no inputs, and has no parent."""
    return ExecutionStarted(
        **who,
        policy_id=chain.own.policy_id,
        policy_sha256=chain.own.policy_sha256,
        source_sha256=source_sha256,
        granted=list(chain.granted),
        withheld=list(chain.withheld_records),
        isolation=dict(isolation),
        modules=list(chain.modules),
        mode="learn" if learning else None,
        terms_sha256=chain.terms_sha256,
        policies=chain.recorded_policies,
    )
