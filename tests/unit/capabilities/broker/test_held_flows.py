"""Marks of sessions whose holder stores them."""

from __future__ import annotations

import gc

from caps.capabilities.broker.flow import SessionFlows
from caps.capabilities.identity import Identity

THREAD = Identity(principal="ada", session="t1")


def test_a_held_state_is_shared_and_ends_with_its_holder() -> None:
    """Calls that name the session see its marks while it is held; then the store has them."""
    flows = SessionFlows()
    held = flows.held(THREAD)
    held.add_marks(["private"])
    assert flows.held(THREAD) is held
    assert flows.of(THREAD).labels == ("private",)
    assert flows.held(Identity(principal="eve", session="t1")).labels == ()
    del held
    gc.collect()
    assert flows.held(THREAD).labels == ()


def test_a_held_state_of_a_named_session_is_that_of_the_session() -> None:
    """A name that somebody used before keeps its marks, whoever holds it."""
    flows = SessionFlows()
    flows.of(THREAD).add_marks(["private"])
    assert flows.held(THREAD).labels == ("private",)
    flows.held(THREAD).add_marks(["untrusted"])
    gc.collect()
    assert flows.of(THREAD).labels == ("private", "untrusted")


def test_held_states_do_not_count_against_the_bound() -> None:
    """A runtime has more threads in its life than named sessions."""
    flows = SessionFlows(max_sessions=1)
    states = [flows.held(Identity(principal="ada", session=str(n))) for n in range(5)]
    assert len(set(map(id, states))) == 5
