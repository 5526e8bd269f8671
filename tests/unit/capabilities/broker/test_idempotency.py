"""The idempotency keys of single calls: how long they are kept, and how many."""

from __future__ import annotations

import pytest

from caps.capabilities.broker import idempotency
from caps.capabilities.broker.idempotency import CallerKeys, IdempotencyCache, IdempotentCall
from caps.protocol.errors import LimitExceededError
from caps.worker.host.supervisor.interface import CallResponse

KEY = ("box.put", "k")


def recorded(keys: IdempotencyCache, answer: str) -> IdempotentCall:
    """A call that was made and answered."""
    call = IdempotentCall("digest", "terms")
    call.begin(None)
    keys[KEY] = call
    keys.keep(call, CallResponse(result=answer))
    call.end()
    return call


def at(call: IdempotentCall, seconds: float) -> float:
    """A moment after the end of the call."""
    assert call.ended is not None
    return call.ended + seconds


class TestCallerKeys:
    """One set of keys for each principal and session."""

    def test_a_key_is_kept_for_an_hour(self) -> None:
        """And forgotten afterwards, with its caller."""
        now = 0.0
        keys = CallerKeys(clock=lambda: now)
        call = recorded(keys.of("ada", None), "a")
        now = at(call, 3599)
        assert keys.of("ada", None)[KEY] is call
        now = at(call, 3601)
        assert KEY not in keys.of("ada", None)

    def test_a_call_in_flight_is_not_forgotten(self) -> None:
        """However long it takes: its repeat must not act."""
        now = 0.0
        keys = CallerKeys(clock=lambda: now)
        running = IdempotentCall("digest", "terms")
        keys.of("ada", None)[KEY] = running
        now = 1e12
        assert keys.of("ada", None)[KEY] is running

    def test_keys_that_are_held_are_not_forgotten(self) -> None:
        """A call that has not added its key yet, and a later one, must find each other's."""
        keys = CallerKeys()
        with keys.held("ada", None) as first, keys.held("ada", None) as second:
            assert first is second
        assert keys.of("ada", None) is not first

    def test_callers_have_keys_of_their_own(self) -> None:
        """By principal and session."""
        keys = CallerKeys()
        recorded(keys.of("ada", None), "a")
        assert KEY not in keys.of("bob", None)
        assert KEY not in keys.of("ada", "s")

    def test_a_call_does_not_look_at_the_keys_of_all_callers(self) -> None:
        """Only now and then: there may be millions, and the event loop waits meanwhile."""

        class Watched(IdempotencyCache):
            looks = 0

            def forget_until(self, before: float) -> None:
                Watched.looks += 1
                super().forget_until(before)

        now = 0.0
        keys = CallerKeys(clock=lambda: now)
        keys.of("ada", None)
        keys._callers["bob", None] = Watched()
        recorded(keys._callers["bob", None], "a")
        for _ in range(10):
            keys.of("ada", None)
        assert Watched.looks == 0
        now = 61.0
        keys.of("ada", None)
        assert Watched.looks == 1

    def test_too_many_callers_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing is forgotten to make room; a known caller can continue."""
        monkeypatch.setattr(idempotency, "MAX_CALLERS", 2)
        keys = CallerKeys()
        for principal in ("ada", "bob"):
            recorded(keys.of(principal, None), "a")
        with pytest.raises(LimitExceededError, match="idempotency keys of 2 callers are kept"):
            keys.of("eve", None)
        assert KEY in keys.of("ada", None)

    def test_answers_share_one_room_and_give_it_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An answer without room is given once, and its repeat gets an error."""
        monkeypatch.setattr(idempotency, "_MAX_CALLER_BYTES", 100)
        now = 0.0
        keys = CallerKeys(clock=lambda: now)
        kept = recorded(keys.of("ada", None), "x" * 80)
        refused = recorded(keys.of("bob", None), "y" * 80)
        assert kept.answer == CallResponse(result="x" * 80)
        assert refused.answer is not None
        assert refused.answer.failure is not None
        assert "too large to keep" in refused.answer.failure.message
        now = at(refused, 3601)
        later = recorded(keys.of("eve", None), "z" * 80)
        assert later.answer == CallResponse(result="z" * 80)
