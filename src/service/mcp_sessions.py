"""What the sessions of tokens were answered, for versions of MCP that have no sessions.

It is forgotten once the token has expired, because nobody can go on with the session then, and
never before: whoever could make the server forget it could go around the flow rules.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable

from caps.capabilities.broker.flow import MAX_SESSIONS, FlowState
from caps.service.problems import Problem
from caps.service.signin.tokens import LEEWAY_SECONDS


class TokenSessions:
    """Holds the states of the sessions of tokens that have not expired."""

    def __init__(
        self, max_sessions: int = MAX_SESSIONS, clock: Callable[[], float] = time.time
    ) -> None:
        self._max_sessions = max_sessions
        self._clock = clock
        self._flows: dict[str, FlowState] = {}
        self._until: dict[str, int] = {}
        self._expiries: list[tuple[int, str]] = []

    def hold(self, session: str, expires_at: int, opened: Callable[[], FlowState]) -> FlowState:
        """The state of the session, which `opened` finds at first. Problem if there are too many.

        `expires_at` is what a token of the session says; the last one counts.
        """
        self._forget_expired()
        found = self._flows.get(session)
        if found is None:
            if len(self._flows) >= self._max_sessions:
                raise Problem(
                    503, "too_many_tokens", "too many tokens are in use; try again when some expire"
                )
            found = self._flows[session] = opened()
            self._until[session] = expires_at
            heapq.heappush(self._expiries, (expires_at, session))
        self._until[session] = max(self._until[session], expires_at)
        return found

    def _forget_expired(self) -> None:
        now = self._clock() - 2 * LEEWAY_SECONDS  # a verifier still takes it for a while
        while self._expiries and self._expiries[0][0] < now:
            expired, session = heapq.heappop(self._expiries)
            if self._until[session] > expired:  # another token of it is good for longer
                heapq.heappush(self._expiries, (self._until[session], session))
                continue
            del self._flows[session], self._until[session]
