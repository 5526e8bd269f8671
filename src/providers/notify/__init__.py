"""(7) `notify.user`: a run that nobody follows tells its user something.

It is an injection of silent runs and not a capability, so no agent lists it. A message reaches
whoever listens for the session of the call: the program that runs the agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Final
from weakref import WeakKeyDictionary

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.catalogue.capability import Capability, ToolDescriptor
from caps.capabilities.catalogue.injections import ExecutionMode
from caps.capabilities.provider import CallContext, ProviderError
from caps.capabilities.registry import CapabilityRegistry

MAX_CHARACTERS: Final = 4000

Listener = Callable[[str], Awaitable[None]]


class Notified(TypedDict):
    """The message was passed on."""

    delivered: bool


class Outbox:
    """Who listens, by principal and session. One for each registry."""

    def __init__(self) -> None:
        self._listeners: dict[tuple[str, str], list[Listener]] = {}

    @contextmanager
    def listening(self, principal: str, session: str, listener: Listener) -> Iterator[None]:
        """Pass messages of this session to `listener`; of several, the last one gets them."""
        own = self._listeners.setdefault((principal, session), [])
        own.append(listener)
        try:
            yield
        finally:
            own.remove(listener)
            if not own:
                del self._listeners[principal, session]

    async def deliver(self, context: CallContext, message: str) -> None:
        """Raises ProviderError if nobody listens."""
        own = self._listeners.get((context.principal, context.session or ""))
        if not own:
            raise ProviderError("nobody listens: this is not a silent run of an agent")
        await own[-1](message)


class NotifyUser(Capability):
    """The function as a tool of silent runs."""

    key = "notify_user"
    name = "Notify User"
    description = "Tells the user something during a run that nobody follows."
    category = "Communication"
    system_prompt = (
        "Nobody reads along in this run, and your final answer may not be read. If the user must "
        "know something, call `notify_user`."
    )
    tools = (
        ToolDescriptor("notify_user", "Notify User", "Send the user a message.", "notify.user"),
    )


_outboxes: Final = WeakKeyDictionary[CapabilityRegistry, Outbox]()


def outbox_of(registry: CapabilityRegistry) -> Outbox | None:
    """Where programs listen; None if the registry has no `notify.user`."""
    return _outboxes.get(registry)


def register_notify(registry: CapabilityRegistry) -> None:
    """Declare the domain `notify`, its function and the injection `notify_user`."""
    outbox = _outboxes[registry] = Outbox()

    async def notify_user(
        context: CallContext,
        message: Annotated[
            str, Field(min_length=1, max_length=MAX_CHARACTERS, description="what to tell the user")
        ],
    ) -> Notified:
        """Send the user a message."""
        await outbox.deliver(context, message)
        return {"delivered": True}

    registry.domain(
        "notify", scope=None, title="Notify", description="Messages to the user of a silent run."
    )
    registry.capability("notify.user", title="Notify the user")(notify_user)
    registry.register_injection(NotifyUser, modes={ExecutionMode.SILENT})
