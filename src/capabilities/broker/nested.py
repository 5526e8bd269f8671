"""(6) What the provider of a call in flight may ask for: more calls, code, shared resources.

All of it is for the caller of that call, under its grant: a nested call goes through the same
broker and is decided, limited, recorded and answered like any other, and code gets the same grant
or less. So a provider cannot reach more in this way than its caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec

from caps.capabilities.identity import new_id
from caps.capabilities.provider import CallContext, CallHost, ResourceFactory
from caps.protocol.errors import CALL_ERRORS, ConfigurationError, ProviderError
from caps.protocol.framing import check_json_like
from caps.protocol.messages import CapabilityRequestMessage

if TYPE_CHECKING:
    from caps.capabilities.broker.broker import ExecutionBroker
    from caps.capabilities.runtime.result import ExecutionResult

T = TypeVar("T")

# A provider that calls itself for ever ends here, or at `limits.calls`.
MAX_DEPTH: Final = 16


class HostServices(Protocol):
    """What the runtime does for providers."""

    async def run(
        self,
        broker: ExecutionBroker,
        context: CallContext,
        source: str,
        *,
        policy: Mapping[str, Any] | None,
        inputs: Mapping[str, Any] | None,
    ) -> ExecutionResult:
        """Run code within the call of `context`, which belongs to the execution of `broker`."""

    async def resource(self, factory: ResourceFactory[T]) -> T:
        """What `factory` opens, once per runtime."""


class NoHost:
    """The services of a broker without a runtime, such as one that a test makes."""

    async def run(self, *_given: object, **_options: object) -> ExecutionResult:
        raise ConfigurationError("there is no runtime to run code in")

    async def resource(self, _factory: ResourceFactory[T]) -> T:
        raise ConfigurationError("there is no runtime that could hold a resource")


class BrokerHost(CallHost):
    """For the calls of one execution."""

    __slots__ = ("_broker", "_services")

    def __init__(self, broker: ExecutionBroker, services: HostServices) -> None:
        self._broker = broker
        self._services = services

    async def call(self, context: CallContext, capability: str, payload: Mapping[str, Any]) -> Any:
        if context.depth >= MAX_DEPTH:
            raise ProviderError(f"`{context.capability}` nests more than {MAX_DEPTH} calls")
        check_json_like(dict(payload))
        request = CapabilityRequestMessage(
            id="1", timestamp=0.0, request_id=new_id(), capability=capability, payload=dict(payload)
        )
        response = await self._broker.answer(request, parent=context)
        if response.failure is not None:
            failure = response.failure
            raise CALL_ERRORS[failure.code](failure.message, **failure.details)
        result = response.result
        return msgspec.msgpack.decode(result) if isinstance(result, msgspec.Raw) else result

    def allows(self, capability: str, payload: Mapping[str, Any]) -> bool:
        grant = self._broker.grant
        terms = grant.terms.get(capability)
        if terms is None or terms.withheld is not None or capability in grant.revoked:
            return False
        function = capability.partition(".")[2]
        return terms.scope is None or terms.scope.violation(function, payload) is None

    async def run(
        self,
        context: CallContext,
        source: str,
        *,
        policy: Mapping[str, Any] | None,
        inputs: Mapping[str, Any] | None,
    ) -> ExecutionResult:
        return await self._services.run(self._broker, context, source, policy=policy, inputs=inputs)

    async def resource(self, factory: ResourceFactory[T]) -> T:
        return await self._services.resource(factory)
