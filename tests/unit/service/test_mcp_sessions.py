"""Sessions of tokens: held until the token has expired, and bounded."""

from __future__ import annotations

import gc
import weakref

import pytest

from caps.capabilities.broker.flow import FlowState, SessionFlows
from caps.capabilities.identity import Identity
from caps.service.mcp_sessions import TokenSessions
from caps.service.problems import Problem


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_state_of_a_token_lives_until_it_expires() -> None:
    """A little longer, because a verifier has some leeway; then nobody holds it."""
    clock = Clock()
    sessions, flows = TokenSessions(clock=clock), SessionFlows()
    who = Identity(principal="ada", session="mcp-1")
    sessions.hold("mcp-1", 2000, lambda: flows.held(who)).add("hr.salary", frozenset({"private"}))
    gc.collect()
    clock.now = 2010.0
    again = sessions.hold("mcp-1", 2000, FlowState)
    assert again.labels == ("private",)
    assert flows.of(who) is again
    ended = weakref.ref(again)
    del again
    clock.now = 2021.0
    sessions.hold("mcp-2", 3000, FlowState)
    gc.collect()
    assert ended() is None


def test_a_thousand_tokens_one_after_another_need_one_place() -> None:
    """So a server that lives long does not refuse new tokens."""
    clock = Clock()
    sessions = TokenSessions(1, clock)
    for number in range(1000):
        sessions.hold(f"mcp-{number}", int(clock.now) + 10, FlowState)
        clock.now += 31


def test_too_many_tokens_at_a_time_are_refused() -> None:
    """Forgetting one of them would forget its labels. Those that are known go on."""
    sessions = TokenSessions(2, Clock())
    first = sessions.hold("mcp-1", 2000, FlowState)
    sessions.hold("mcp-2", 2000, FlowState)
    with pytest.raises(Problem) as refusal:
        sessions.hold("mcp-3", 2000, FlowState)
    assert (refusal.value.status_code, refusal.value.code) == (503, "too_many_tokens")
    assert sessions.hold("mcp-1", 2000, FlowState) is first
