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
    SIGNED_SEQ_GAP,
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
"""Each is named after what it leads to, as in an `EncodedRecord`."""


class RecordPieces(NamedTuple):
    """The pieces of the start, and of the end without and with the peak memory."""

    started: Pieces
    ended: Pieces
    ended_with_peak: Pieces


class ExecutionTexts(msgspec.Struct, frozen=True):
    """The pieces of both records, and what is inserted into both of them."""

    pieces: RecordPieces
    agent: str
    execution_id: str
    principal: str
    session: str

    def started(self, source_sha256: str) -> EncodedRecord:
        """The record of the start."""
        pieces = self.pieces.started
        to_agent, to_id, to_hash, to_prev, to_principal, to_seq = pieces[:6]
        to_session, to_signed, to_source, to_ts, rest = pieces[6:]
        return (
            f"{to_agent}{self.agent}{to_id}{self.execution_id}{to_hash}",
            to_prev,
            f"{to_principal}{self.principal}{to_seq}",
            f"{to_session}{self.session}{to_signed}{SIGNED_SEQ_GAP}"
            f"{to_source}{source_sha256}{to_ts}",
            rest,
        )

    def ended(
        self, calls: int, output_bytes: int, duration_us: int, used: ResourceUsage
    ) -> EncodedRecord:
        """The record of the end, with a value."""
        peak: int | str | None = used.max_rss_kb
        if peak is None:
            peak, pieces = "", self.pieces.ended
        else:
            pieces = self.pieces.ended_with_peak
        to_agent, to_calls, to_cpu, to_duration, to_id, to_hash = pieces[:6]
        to_peak, to_size, to_prev, to_principal, to_seq = pieces[6:11]
        to_session, to_signed, to_ts, rest = pieces[11:]
        return (
            f"{to_agent}{self.agent}{to_calls}{calls}{to_cpu}{used.cpu_us}"
            f"{to_duration}{duration_us}{to_id}{self.execution_id}{to_hash}",
            f"{to_peak}{peak}{to_size}{output_bytes}{to_prev}",
            f"{to_principal}{self.principal}{to_seq}",
            f"{to_session}{self.session}{to_signed}{SIGNED_SEQ_GAP}{to_ts}",
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
    agent, principal, session = identity.agent, identity.principal, identity.session
    if not (is_plain_id(execution_id) and is_plain_text(principal)):
        return None
    if session is not None and not is_plain_text(session):
        return None
    if agent is not None and not is_plain_text(agent):
        return None
    has_agent, has_session = agent is not None, session is not None
    pieces = _cut_out(identity.via, chain, isolation, degraded, has_agent, has_session, learning)
    if pieces is None:
        return None
    return ExecutionTexts(pieces, agent or "", execution_id, principal, session or "")


@functools.lru_cache(maxsize=64)
def _cut_out(
    via: Via,
    chain: PolicyChain,
    isolation: tuple[tuple[str, str], ...],
    degraded: str | None,
    has_agent: bool,
    has_session: bool,
    learning: bool,
) -> RecordPieces | None:
    """The pieces of the records of these executions.

    The result depends on the arguments only, so it is cached.
    """
    mark, principal, sha = (text_mark() for _ in range(3))
    agent = text_mark() if has_agent else None
    session = text_mark() if has_session else None
    calls, cpu, took, size, peak, signed = (number_mark() for _ in range(6))
    who: dict[str, Any] = {"execution_id": mark, "principal": principal, "agent": agent}
    who |= {"via": via, "degraded": degraded, "session": session}
    started = started_event(who, chain, isolation, learning=learning, source_sha256=sha)
    used: dict[str, Any] = {"calls": calls, "cpu_us": cpu, "duration_us": took}
    used |= {"output_bytes": size, "status": ExecutionStatus.OK}
    events: tuple[AuditEvent, ...] = (
        msgspec.structs.replace(started, signed_seq=signed),
        ExecutionEnded(**who, **used, signed_seq=signed),
        ExecutionEnded(**who, **used, signed_seq=signed, max_rss_kb=peak),
    )
    to_signed = (session, f'"signed_seq":{signed},')
    in_body = (agent, calls, cpu, took, mark)
    places: tuple[tuple[tuple[object, ...], ...], ...] = (
        ((agent, mark), (), (principal,), (*to_signed, sha), ()),
        (in_body, (None, size), (principal,), to_signed, ()),
        (in_body, (peak, size), (principal,), to_signed, ()),
    )
    first, second, third = map(cut_out, events, places)
    if first is None or second is None or third is None:
        return None
    return RecordPieces(first, second, third)


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
