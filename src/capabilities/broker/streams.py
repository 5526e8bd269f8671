"""(7) Streams: the items of a provider that is an async generator, one by one.

Each item is checked as a result is, and counted; its channel is marked before it is sent. The next
item is built when the code has asked for it, so a slow reader holds the provider and not the memory
of the host. The generator is closed when the code stops reading, and with its call. The timeout of
the call bounds the time for each item; the time of the reader counts towards `limits.wall_ms`.

A caller without a sink (a single call, a nested call) gets all items as one list, if it is not too
long and complete within the timeout.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final, cast

import anyio
import anyio.lowlevel
import msgspec

from caps.capabilities.broker.invoke import (
    MAX_RESULT_BYTES,
    Outcome,
    check_result,
    error_response,
    rough_size,
)
from caps.capabilities.grant import BoundCapability
from caps.capabilities.provider import CallContext
from caps.protocol.errors import ProviderError, ValidationError
from caps.security.audit.model.records import CallStatus
from caps.worker.host.supervisor.byte_budget import CallShare
from caps.worker.host.supervisor.interface import CallResponse, ItemSink

MAX_ITEMS: Final = 1_000_000
MAX_COLLECTED_ITEMS: Final = 10_000
# The arguments of a stream are held for as long as it is open, and only requests that wait for an
# answer count in the budget of the host.
MAX_ARGUMENT_BYTES: Final = 64 * 1024
_ITEM_BYTES = 256 * 1024

_READ_BEFORE = ProviderError(
    "the call with this key was a stream, whose items are not kept; use another key to repeat it"
)


class ItemStream:
    """Where the items of one call go, and how many went."""

    def __init__(self, mark: Callable[[], None], sink: ItemSink | None) -> None:
        """`mark` is called before each item is sent."""
        self.count = 0
        self.size = 0
        self._mark = mark
        self._sink = sink
        self._collected: list[msgspec.Raw] = []

    def for_repeats(self, answer: CallResponse) -> CallResponse:
        """What a repeat with the same idempotency key gets: the items that were read are gone."""
        return answer if self._sink is None else error_response(_READ_BEFORE)

    async def run(
        self,
        bound: BoundCapability,
        context: CallContext,
        payload: Mapping[str, Any],
        share: CallShare,
        deadline: anyio.CancelScope,
    ) -> Outcome:
        """Pass on all items that the code wants. Raises what the provider raises."""
        if rough_size(dict(payload)) > MAX_ARGUMENT_BYTES:
            raise ValidationError(
                f"the arguments of the stream `{bound.name}` may have {MAX_ARGUMENT_BYTES} bytes",
                capability=bound.name,
                problems=[],
            )
        reading, failed = anyio.CancelScope(), None
        if self._sink is not None:
            self._sink.on_stop(reading.cancel)
        items = cast("AsyncGenerator[Any, None]", bound.provider(context, payload))
        try:
            async with aclosing(items):
                with reading:
                    failed = await self._pass_on(items, bound, context, share, deadline)
                if self._sink is not None:  # to close it may take as long as an item
                    deadline.deadline = anyio.current_time() + context.timeout_ms / 1000
        finally:
            share.settle(0)
        return failed or self._ended()

    async def _pass_on(
        self,
        items: AsyncGenerator[Any, None],
        bound: BoundCapability,
        context: CallContext,
        share: CallShare,
        deadline: anyio.CancelScope,
    ) -> Outcome | None:
        """Until the end; or the outcome, if an item may not be sent."""
        await share.reserve(_ITEM_BYTES)
        async for item in items:
            outcome = await check_result(bound, context, item)
            if outcome.status is not CallStatus.OK:
                return outcome
            share.settle(outcome.bytes_out)
            await anyio.lowlevel.checkpoint_if_cancelled()  # it may have been revoked meanwhile
            self._mark()
            self.count += 1
            self.size += outcome.bytes_out
            encoded = outcome.answer.result
            assert isinstance(encoded, msgspec.Raw)  # of a result that fits
            del item, outcome
            if self._sink is None:
                self._collect(bound.name, encoded)
            else:
                deadline.deadline = float("inf")
                await self._sink.send(encoded)
                deadline.deadline = anyio.current_time() + context.timeout_ms / 1000
            if self.count >= MAX_ITEMS:
                raise ProviderError(f"`{bound.name}` gave {MAX_ITEMS} items, which is the most")
            share.settle(0)
            await share.reserve(_ITEM_BYTES)
        return None

    def _collect(self, name: str, item: msgspec.Raw) -> None:
        self._collected.append(item)
        if self.count > MAX_COLLECTED_ITEMS or self.size > MAX_RESULT_BYTES // 2:
            raise ProviderError(
                f"`{name}` is a stream of more than {MAX_COLLECTED_ITEMS} items or "
                f"{MAX_RESULT_BYTES // 2} bytes; read it from code, item by item"
            )

    def _ended(self) -> Outcome:
        result = None
        if self._sink is None:
            result = msgspec.Raw(msgspec.msgpack.encode(self._collected))
            self._collected = []
        return Outcome(
            status=CallStatus.OK, answer=CallResponse(result=result), bytes_out=self.size
        )
