"""(6) What each channel has been answered: the input of the flow rules. It only grows.

The broker adds the marks of an answer (its labels, its function) before the answer is sent, and
takes a snapshot of all marks when a request is received. So the snapshot has the labels of
everything that the request can hold, whatever the worker does: nothing reaches it but answers.

A session keeps one state for all of its runs; without a name, for as long as it exists. Executions
and calls that name the same session of the same principal share one, too, because a model sees the
answers of all of them. An execution within an execution shares the state of the outer one, too:
both run at the same time, and what one of them stores the other can read. The marks are also those
of the answer (`context.add_labels(*flow.answered)`), for repeats of the call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from weakref import WeakValueDictionary

from caps.capabilities.identity import Identity
from caps.protocol.errors import ConfigurationError
from caps.security.policies.flow_rules import labels_in, marks_of

# Forgetting a session would forget its labels, so there is a bound and nothing is forgotten.
MAX_SESSIONS: Final = 65_536


class FlowState:
    """The marks of one channel, see `security/policies/flow_rules.py`."""

    __slots__ = ("__weakref__", "answered")

    def __init__(self, answered: Iterable[str] = ()) -> None:
        self.answered = frozenset(answered)
        """A snapshot: a later answer replaces the set and does not change it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels alone, sorted."""
        return labels_in(self.answered)

    def add(self, capability: str, labels: frozenset[str]) -> None:
        """An answer of `capability` with `labels` is about to be sent."""
        marks = marks_of(capability)
        if not (marks <= self.answered and labels <= self.answered):
            self.answered |= marks | labels

    def add_marks(self, marks: Iterable[str]) -> None:
        """What was stored with these marks is about to be shown to the channel."""
        self.answered |= frozenset(marks)


class SessionFlows:
    """The states of the named sessions of one runtime."""

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self._max_sessions = max_sessions
        self._states: dict[tuple[str, str], FlowState] = {}
        # Those of sessions without a name, by the ids that the runtime gave them.
        self._unnamed = WeakValueDictionary[tuple[str, str], FlowState]()

    def of_unnamed(self, identity: Identity) -> FlowState:
        """A new state for a session whose id is from the runtime. It ends with its last holder;
        until then, calls and executions that name the id share it."""
        assert identity.session is not None
        found = self._unnamed[identity.principal, identity.session] = FlowState()
        return found

    def held(self, identity: Identity) -> FlowState:
        """The state of a session whose marks its holder stores, such as a thread of messages.

        It ends with its last holder, so such sessions do not count against the bound.
        """
        assert identity.session is not None
        key = (identity.principal, identity.session)
        found = self._states.get(key) or self._unnamed.get(key)
        if found is None:
            found = self._unnamed[key] = FlowState()
        return found

    def of(self, identity: Identity) -> FlowState:
        """The state of the session that `identity` names, or a new one if it names none.

        ConfigurationError if there are too many sessions.
        """
        if identity.session is None:
            return FlowState()
        key = (identity.principal, identity.session)
        found = self._states.get(key) or self._unnamed.get(key)
        if found is None:
            if len(self._states) >= self._max_sessions:
                raise ConfigurationError(
                    f"the runtime has seen {self._max_sessions} named sessions and cannot forget "
                    "what they have read; use one of them, or open another runtime"
                )
            found = self._states[key] = FlowState()
        return found
