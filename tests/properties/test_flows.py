"""No byte of a labelled answer reaches a function that a flow rule forbids, whatever is sent when.

A worker that lies as much as it can: it puts everything that it was ever answered into each thing
that it sends, from two executions of one session, in batches that are begun, driven and answered in
any order. The model is plain: it knows which tokens were in an answer that was given, and looks at
what left.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from hypothesis import event, given
from hypothesis import strategies as st

from caps.capabilities.broker.broker import ExecutionBroker
from caps.protocol.messages import CapabilityRequestMessage
from caps.worker.host.supervisor.interface import CallResponse, RequestBatch
from support.broker_setup import drive_batch
from support.flow_setup import FlowSetup, value_of
from support.hypothesis_examples import examples

READS = ("data.plain", "data.secret", "data.slow_secret", "data.page", "data.slow_page")
SENDS = ("out.send", "out.slow_send")
LABELS = ("private", "untrusted", "mine")
MARKS = (*LABELS, "data.plain", "data.slow_page", "data.*")

read = st.tuples(st.sampled_from([*READS, "data.broken"]), st.none())
stored = st.tuples(st.just("data.stored"), st.lists(st.sampled_from(LABELS), max_size=2))
send = st.tuples(st.sampled_from(SENDS), st.none())
# What one read of the channel holds: by which execution, the calls, and a key for some of them.
arrival = st.tuples(
    st.integers(0, 1),
    st.lists(st.one_of(read, stored, send, send), min_size=1, max_size=4),
    st.sampled_from([None, None, None, "k"]),
)
steps = st.lists(
    st.one_of(arrival, arrival, st.integers(0, 3).map(lambda n: ("drive", n)), st.just("turn")),
    min_size=1,
    max_size=14,
)
flow_rules = st.lists(
    st.tuples(
        st.lists(st.sampled_from(MARKS), min_size=1, max_size=2, unique=True),
        st.sampled_from([["egress"], ["out.send"], ["out.slow_send"], ["out.*"]]),
    ),
    min_size=1,
    max_size=2,
).map(
    lambda found: [
        {"id": f"f{index}", "after": after, "deny": deny}
        for index, (after, deny) in enumerate(found)
    ]
)


class Sent(NamedTuple):
    """A request to send, with what was known, and what had been read, when it was received."""

    request: CapabilityRequestMessage
    known: frozenset[str]
    """The marks of all answers that had been given."""
    read: frozenset[str]
    """The marks of all answers that had been made, whether they were given or not."""


class Pending(NamedTuple):
    calls: ExecutionBroker
    requests: list[CapabilityRequestMessage]
    batch: RequestBatch


class Liar:
    """A worker that sends everything it knows, and a host that answers in any order."""

    def __init__(self, flows: list[dict[str, Any]], group: TaskGroup) -> None:
        self.setup = FlowSetup(
            *flows, labels={"data.plain": ["mine"]}, limits={"calls": 1000, "concurrency": 1000}
        )
        self.channels = [self.setup.execution(f"e{n}", session="s") for n in (2, 3)]
        self.group = group
        self.tokens: set[str] = set()
        self.pending: list[Pending] = []
        self.sent: list[Sent] = []
        self.answers: dict[str, CallResponse] = {}

    def marks_of(self, tokens: set[str] | frozenset[str]) -> frozenset[str]:
        """The labels and the functions of the answers that held these tokens."""
        found: set[str] = set()
        for token in tokens:
            function = self.setup.functions[token]
            found |= {*self.setup.tokens[token], function, "data.*"}
            if function == "data.plain":
                found.add("mine")
        return frozenset(found)

    def take(self, channel: int, calls: list[tuple[str, Any]], key: str | None) -> None:
        """Requests arrive: everything that they can hold is known by now."""
        requests = []
        for capability, labels in calls:
            payload: dict[str, Any] = {}
            if capability in SENDS:
                payload["data"] = " ".join(sorted(self.tokens))
            elif labels is not None:
                payload["labels"] = labels
            given = key if capability not in SENDS else None
            request = self.setup.request(capability, given, **payload)
            requests.append(request)
            if capability in SENDS:
                known = self.marks_of(self.tokens) | self._told()
                read = self.marks_of(frozenset(self.setup.tokens)) | {"out.*", *SENDS}
                self.sent.append(Sent(request, known, read))
        on = self.channels[channel]
        self.pending.append(Pending(on, requests, on.begin_batch(requests)))

    def _told(self) -> frozenset[str]:
        """The marks of answers without a token: what was sent and confirmed."""
        done = [one.request for one in self.sent if one.request.request_id in self.answers]
        ok = [one for one in done if self.answers[one.request_id].failure is None]
        return frozenset(mark for one in ok for mark in (one.capability, "out.*"))

    async def drive(self, index: int) -> None:
        """Answer what came in one read: inline, and the rest in tasks."""
        if not self.pending:
            return
        calls, requests, batch = self.pending.pop(index % len(self.pending))
        answers = await drive_batch(batch)
        for request, answer in zip(requests, answers, strict=True):
            if answer is None:
                self.group.start_soon(self._answer, calls, request, batch.answered)
            else:
                self._give(request, answer)

    async def _answer(
        self, calls: ExecutionBroker, request: CapabilityRequestMessage, answered: frozenset[str]
    ) -> None:
        self._give(request, await calls.answer(request, answered))

    def _give(self, request: CapabilityRequestMessage, answer: CallResponse) -> None:
        """The worker gets an answer, and learns the tokens in it, also those in an error."""
        self.answers[request.request_id] = answer
        text = answer.failure.message if answer.failure else value_of(answer)
        for token in re.findall(r"token-\d+", text):
            self.tokens.add(token)


async def play(program: list[Any], flows: list[dict[str, Any]]) -> Liar:
    async with anyio.create_task_group() as group:
        liar = Liar(flows, group)
        for step in program:
            if step == "turn":
                await anyio.lowlevel.checkpoint()
            elif step[0] == "drive":
                await liar.drive(step[1])
            else:
                liar.take(*step)
        while liar.pending:
            await liar.drive(0)
    return liar


def forbidden(flows: list[dict[str, Any]], capability: str, marks: frozenset[str]) -> bool:
    """The rules as they are written, one by one."""
    for flow in flows:
        hit = any(target in ("egress", "out.*", capability) for target in flow["deny"])
        if hit and set(flow["after"]) <= marks:
            return True
    return False


@examples(400)
@given(steps, flow_rules)
def test_nothing_labelled_leaves_against_a_rule(
    program: list[Any], flows: list[dict[str, Any]]
) -> None:
    """What left held no token whose labels forbid it; and what was refused, a rule forbids."""
    liar = anyio.run(play, program, flows)
    for one in liar.sent:
        capability = one.request.capability
        answer = liar.answers[one.request.request_id]
        left = answer.failure is None
        held = frozenset(one.request.payload["data"].split())
        event(f"left={left} held={bool(held)}")
        if left:
            assert not forbidden(flows, capability, liar.marks_of(held))
            assert not forbidden(flows, capability, one.known)
        else:
            assert answer.failure is not None
            assert answer.failure.details["reason"] == "flow_denied"
            assert forbidden(flows, capability, one.read)


@examples(100)
@given(steps, flow_rules)
def test_every_send_that_was_allowed_is_what_left(
    program: list[Any], flows: list[dict[str, Any]]
) -> None:
    """A refused call has no effect, and an allowed one has one."""
    liar = anyio.run(play, program, flows)
    allowed = [
        one.request.payload["data"]
        for one in liar.sent
        if liar.answers[one.request.request_id].failure is None
    ]
    assert sorted(allowed) == sorted(liar.setup.sent)
