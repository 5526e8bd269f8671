"""The two drivers of a call do the same: random calls through both, compared record by record."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit import AuditEvent
from caps.worker.host.supervisor.interface import CallResponse
from support.audit_examples import REDACTOR
from support.broker_setup import BrokerSetup, answer_batch
from support.hypothesis_examples import examples

EXAMPLES = examples(200)

# One call of a program: its capability and its payload.
CALLS = st.tuples(
    st.sampled_from(["box.echo", "box.echo", "box.echo", "box.other", "shelf.none"]),
    st.sampled_from(
        [{"word": "a"}, {"word": "a"}, {"word": "bad"}, {"word": "broken"}, {"word": 5}]
    ),
)
# Mostly calls, and now and then something that the host does between two of them.
PROGRAMS = st.lists(
    st.one_of(CALLS, CALLS, CALLS, CALLS, st.sampled_from(["revoke", "deadline"])), max_size=12
)
POLICIES = st.fixed_dictionaries(
    {
        "allow": st.sampled_from([["box.*"], ["box.*"], ["box.echo"], []]),
        "deny": st.sampled_from([[], ["box.other"], [{"rule": "box.echo", "mode": "dry_run"}]]),
        "limits": st.sampled_from(
            [{}, {"calls": 3}, {"rates": {"box.echo": "1/min"}}, {"concurrency": 1}]
        ),
    }
)

# What differs between two runs of the same calls.
_OF_THE_RUN = ("duration_us",)


def outcome(setup: BrokerSetup) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """The records and the counted metrics, without what differs from run to run."""
    records = []
    for event in setup.audit.events:
        fields = msgspec.to_builtins(event)
        records.append({key: value for key, value in fields.items() if key not in _OF_THE_RUN})
    counted = {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in setup.samples.collect()
        for sample in family.samples
        if sample.name.endswith("_total")
    }
    return records, counted


def plain(response: CallResponse | None) -> Any:
    assert response is not None
    result = response.result
    value = msgspec.msgpack.decode(result) if isinstance(result, msgspec.Raw) else result
    return value, response.failure


async def played(program: list[Any], policy: dict[str, Any], *, together: bool) -> Any:
    """The answers to `program`, and its records and metrics, by one of the drivers."""
    setup, responses = BrokerSetup(), []
    setup.audit.redactor = REDACTOR  # so that equal values have equal digests in both

    @setup.registry.capability("box.other")
    async def other(word: str) -> str:
        return word * 2

    setup.policy = policy
    calls = setup.execution("e2")
    for number, step in enumerate(program):
        if step == "revoke":
            calls.revoke(frozenset({"box.echo"}))
        elif step == "deadline":
            calls.meter._deadline = -1.0
        else:
            request = _request(number, *step)
            alone = None if not together else (await answer_batch(calls, [request]))[0]
            responses.append(plain(alone or await calls.answer(request)))
    return responses, outcome(setup), setup.called


def _request(number: int, capability: str, payload: dict[str, Any]) -> CapabilityRequestMessage:
    return CapabilityRequestMessage(
        id=f"e2:{number}",
        timestamp=0.0,
        request_id=f"r{number}",
        capability=capability,
        payload=payload,
    )


@EXAMPLES
@given(PROGRAMS, POLICIES)
def test_both_drivers_give_the_same_answers_records_and_metrics(
    program: list[Any], policy: dict[str, Any]
) -> None:
    """Whether a call may wait decides who drives it, and nothing else."""

    async def both() -> None:
        waiting = await played(program, policy, together=False)
        inline = await played(program, policy, together=True)
        assert inline == waiting

    anyio.run(both)


def test_the_inline_driver_is_really_used() -> None:
    """Else the property compares one driver with itself."""

    async def one() -> None:
        setup = BrokerSetup()
        assert await answer_batch(setup.calls, [_request(1, "box.echo", {"word": "a"})]) != [None]
        records: list[AuditEvent] = setup.audit.events
        assert len(records) == 2

    anyio.run(one)
