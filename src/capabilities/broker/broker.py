"""(6) The broker: the reference monitor between user space and every provider.

One `ExecutionBroker` serves one channel. It trusts nothing in a request: the execution, the
principal and the grant are its own, fixed when the channel was opened. What happens to a call, and
in which order, is defined in `lifecycle.py`; here is the driver of the calls that may wait, for a
person, for the first call with the same idempotency key, or for their provider. The broker adds
this to the rules of the lifecycle:

- a provider's result is not returned unless it fits its schema;
- every decision that allows a call gets an outcome record, whatever ends the call, also if a
  required sink does not get the decision, so that the call is not made;
- an idempotency key has one effect, and every repeat gets its recorded answer;
- a call ends at its deadline, with its execution, or when its grant is revoked, whichever comes
  first; once a grant is revoked no call of it begins, also if its decision was recorded before.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence

import anyio
import anyio.lowlevel

from caps.capabilities.artifacts import Artifact
from caps.capabilities.broker.approvals import ApprovalCall, ApprovalResult
from caps.capabilities.broker.call_parts import CallParts
from caps.capabilities.broker.evidence import DecisionSummary, hashed
from caps.capabilities.broker.flow import FlowState
from caps.capabilities.broker.idempotency import CUT_SHORT, IdempotencyCache, IdempotentCall
from caps.capabilities.broker.invoke import call_provider
from caps.capabilities.broker.lifecycle import Call
from caps.capabilities.broker.nested import BrokerHost
from caps.capabilities.broker.outcomes import error_response
from caps.capabilities.broker.prepared.preparation import PreparedCalls
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.broker.streams import ItemStream
from caps.capabilities.broker.usage import deadline_of
from caps.capabilities.grant import BoundCapability, Grant
from caps.capabilities.identity import Identity
from caps.capabilities.provider import CallContext
from caps.capabilities.telemetry.tracing import ExecutionSpan
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.log.interface import UndeliveredError
from caps.security.audit.model.records import AuditEvent
from caps.security.decision import asking_rules
from caps.security.request import ApprovalUse
from caps.worker.host.process.worker import ResourceUsage
from caps.worker.host.supervisor.interface import CallResponse, ItemSink, RequestBatch
from caps.worker.host.supervisor.wall_clock import WallClock

# The message for user space; the reason and the place are in the operator's log.
_UNRECORDED = AuditError(
    # True of both records: without the first the call was not made, without the second it was.
    "the evidence of this call could not be written, so there is no result"
)

logger = logging.getLogger(__name__)


class ExecutionBroker(CallParts):
    """Answers the requests of one execution."""

    def __init__(
        self,
        services: BrokerServices,
        grant: Grant,
        identity: Identity,
        span: ExecutionSpan,
        *,
        degraded: str | None = None,
        channel_id: str | None = None,
        keys: IdempotencyCache | None = None,
        flow: FlowState | None = None,
        clock: WallClock | None = None,
        on_decision: Callable[[DecisionSummary], None] | None = None,
        on_artifact: Callable[[Artifact], None] | None = None,
        outer: ExecutionBroker | None = None,
    ) -> None:
        """`channel_id`, `keys` and `flow` are shared by the executions of a session, `clock` with
        the supervisor; `on_decision` and `on_artifact` are called with each decision and artifact.
        The default of `flow` is that of the session that `identity` names. `outer` is that of the
        execution that this one is nested in: what is revoked or used up there is so here."""
        if outer is not None:
            grant = grant.revoking(*outer.grant.revoked)
        told = degraded, on_decision, on_artifact, outer
        clock = WallClock() if clock is None else clock
        super().__init__(services, grant, identity, span, *told, clock, keys, flow)
        self.level: int = 0 if outer is None else outer.level + 1
        """The number of executions that this one is nested in."""
        self.inner: set[ExecutionBroker] = set()
        """Of the executions that are nested in this one, while they run."""
        self.used: ResourceUsage | None = None
        self.unrecorded: AuditError | None = None
        """Why the evidence of a call is missing, if it is; the first time."""
        self.channel_id = grant.execution_id if channel_id is None else channel_id
        self.default_timeout_ms = services.default_timeout_ms

    @functools.cached_property
    def host(self) -> BrokerHost:
        """What providers may ask for."""
        return BrokerHost(self, self._services.host)

    @functools.cached_property
    def _prepared(self) -> PreparedCalls:
        return PreparedCalls(self)

    def begin(self) -> None:
        """Start the clock of the execution: its code is being sent."""
        assert not self.was_called  # the first call takes the deadline
        self._deadline = deadline_of(self.grant)

    def prepare(self, request: CapabilityRequestMessage) -> CapabilityRequestMessage:
        """The same request with its payload hashed. Runs in a thread, and changes nothing."""
        terms = self.grant.terms.get(request.capability)
        return hashed(self.audit.redactor, request, terms)

    async def answer(
        self,
        request: CapabilityRequestMessage,
        answered: frozenset[str] | None = None,
        parent: CallContext | None = None,
        sink: ItemSink | None = None,
    ) -> CallResponse:
        """The answer to one request; a failure is an answer, too. See `Call` for the others.

        `sink` gets the items of a stream; without one, they are the answer."""
        call = Call(self, request, answered, parent)
        if call.bound is not None and call.bound.spec.streams:
            call.items = ItemStream(call.item, sink)
        self.telemetry.waits(1)
        try:
            response = await self._dispatch(call)
        except AuditError as error:
            if isinstance(error, UndeliveredError):  # the log has the decision; nothing was begun
                await self._record_interrupt(call)
            response = self.audit_failed(error)
            call.fail(response)
        except BaseException:  # cancelled or interrupted; an error of a provider is an outcome
            await self._record_interrupt(call)
            raise
        finally:
            call.release()
            self.telemetry.waited(1)
        return response

    async def _record_interrupt(self, call: Call) -> None:
        if call.lacks_outcome:
            try:
                with anyio.CancelScope(shield=True):
                    await self.audit.append(call.interrupt())
            except AuditError as error:
                call.fail(self.audit_failed(error))

    def answer_one(
        self, request: CapabilityRequestMessage, keep: Callable[[RequestBatch], None]
    ) -> CallResponse | None:
        """As `begin_batch` for a request that came alone; see `CallHandler`."""
        return self._prepared.answer_one(request, keep)

    def begin_batch(self, requests: Sequence[CapabilityRequestMessage]) -> RequestBatch:
        """Begin to answer the inline requests as one batch; the others need `answer`."""
        return self._prepared.begin(requests)

    def audit_failed(self, error: AuditError) -> CallResponse:
        """The response when an audit write failed; the execution is marked failed as well."""
        logger.error("a call gets no result: its audit record could not be written: %s", error)
        self.unrecorded = self.unrecorded or error
        return error_response(_UNRECORDED)

    def forget(self) -> None:
        """The channel has ended: forget its approvals, and its answers, which can be large."""
        self._services.approvals.forget(self.channel_id)
        self._by_key.clear()

    def end(self, used: ResourceUsage | None) -> None:
        """The worker has exited; `used` is what the code used of it."""
        self.used = used

    def revoke(self, capabilities: frozenset[str]) -> None:
        """Refuse `capabilities` from now on, and stop the calls of them that are in flight.

        Also in the executions that are nested in this one.
        """
        self.grant = self.grant.revoking(*capabilities)
        self._in_flight.stop(capabilities)
        for inner in self.inner:
            inner.revoke(capabilities)

    async def _dispatch(self, call: Call) -> CallResponse:
        request, bound = call.request, call.bound
        if bound is None or not (call.decision.allowed or call.needs_approval):
            return await self._record_and_call(call)
        key = (request.capability, request.idempotency_key or "")
        recorded = self._by_key.get(key)
        if recorded is not None:
            return await self._replay(call, recorded)
        if request.idempotency_key is None:
            return await self._approve_and_call(call, bound)
        return await self._call_with_key(call, bound, key)

    async def _approve_and_call(
        self, call: Call, bound: BoundCapability, recorded: IdempotentCall | None = None
    ) -> CallResponse:
        if call.needs_approval:
            await self._ask_approval(call, bound)
        if call.decision.allowed:
            if recorded is not None:
                recorded.begin(call.approval_id)
        elif recorded is not None:
            recorded.refusal = call.decision
        return await self._record_and_call(call)

    async def _ask_approval(self, call: Call, bound: BoundCapability) -> None:
        """Find or wait for an approval, then decide again: much may have happened meanwhile."""
        wanted = ApprovalCall(
            who=self.who,
            channel_id=self.channel_id,
            request_id=call.request.request_id,
            grant=self.grant,
            terms=bound,
            decision=call.decision,
            redacted=self.audit.redactor.split(call.request.payload, bound.spec.shown),
            rules=tuple(
                asking_rules(link.terms[bound.name], call.answered) for link in self.grant.links
            ),
        )
        standing = self._services.approvals.take(wanted)
        if standing is not None:
            result = ApprovalResult(ApprovalUse.GIVEN, standing)
        else:
            result = ApprovalResult(ApprovalUse.NONE)  # also if it is revoked while it waits
            left_ms = self.grant.limits.approval_ms - int(self._clock.paused_s * 1000)
            stoppable = self._in_flight.stoppable(bound.name)
            with stoppable as waiting, self._clock.paused(), waiting.scope:
                result = await self._services.approvals.ask(wanted, left_ms)
        call.decide_again(result.use, result.approval_id)

    async def _call_with_key(
        self, call: Call, bound: BoundCapability, key: tuple[str, str]
    ) -> CallResponse:
        # The key is taken before the first await, so that a concurrent repeat finds it.
        args_hmac = self.audit.redactor.digest(call.request.payload)
        recorded = self._by_key[key] = IdempotentCall(args_hmac, self.grant.terms_sha256)
        try:
            answer = await self._approve_and_call(call, bound, recorded)
            self._by_key.keep(recorded, call.items.for_repeats(answer) if call.items else answer)
            recorded.labels = call.labels
        except AuditError:
            # Which of the two records failed is not known here, so the effect may have happened:
            # a repeat must not act.
            recorded.answer = error_response(_UNRECORDED)
            raise
        finally:
            if not recorded.begun:
                del self._by_key[key]  # it was not approved: nothing was done under the key
            # In a session the key outlives a call that was cancelled; it must not act again.
            if recorded.answer is None:
                recorded.answer = error_response(CUT_SHORT)
            recorded.end()
        return answer

    async def _replay(self, call: Call, recorded: IdempotentCall) -> CallResponse:
        if not recorded.begun:
            # The first call waits for its approval, which decides for its repeats, too.
            await recorded.decided.wait()
            call.decide_repeat(recorded.refusal)
            if not call.decision.allowed:
                return await self._record_and_call(call)
            if not recorded.begun:
                raise AuditError("the first call with this idempotency key has no evidence")
        call.approval_id = recorded.approval_id
        await self._append(call.decision_record())
        await recorded.ready.wait()
        assert recorded.answer is not None  # `ready` is set after it
        call.replay(recorded.answer, recorded.labels)
        await self._append(call.outcome_record())
        return call.close()

    async def _record_and_call(self, call: Call) -> CallResponse:
        await self._append(call.decision_record())
        if call.decision.allowed:
            if call.begin():
                await self._invoke(call)
            await self._append(call.outcome_record())
        return call.close()

    async def _append(self, event: AuditEvent) -> None:
        """Whether the record is durable is known even if the call is cancelled meanwhile."""
        with anyio.CancelScope(shield=True):
            await self.audit.append(event)
        await anyio.lowlevel.checkpoint_if_cancelled()

    async def _invoke(self, call: Call) -> None:
        bound = call.bound
        assert bound is not None  # it was allowed
        with self._in_flight.stoppable(bound.name) as cancellable:
            outcome = await call_provider(
                bound,
                call.context(),
                call.request.payload,
                policy_id=self.grant.policy_id,
                stoppable=cancellable,
                items=call.items,
            )
        call.end(outcome)
