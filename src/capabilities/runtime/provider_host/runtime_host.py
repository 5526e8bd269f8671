"""What an open runtime does for providers: nested executions, shared resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.grant import Grant
from caps.capabilities.identity import new_id
from caps.capabilities.provider import CallContext, ResourceFactory
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.execution_request import ExecutionRequest, ParentCall
from caps.capabilities.runtime.provider_host.shared_resources import SharedResources
from caps.capabilities.runtime.result import ExecutionResult
from caps.protocol.errors import ProviderError

if TYPE_CHECKING:
    from caps.capabilities.runtime.open_runtime import OpenRuntime

T = TypeVar("T")

# Each level holds a worker while the next one runs.
MAX_LEVELS: Final = 3


class RuntimeHost:
    """Of one runtime; `opened` returns it once it is open."""

    def __init__(
        self,
        registry: CapabilityRegistry,
        resources: SharedResources,
        opened: Callable[[], OpenRuntime],
    ) -> None:
        self._registry = registry
        self._resources = resources
        self._opened = opened

    async def resource(self, factory: ResourceFactory[T]) -> T:
        """What `factory` opens, once per runtime."""
        return await self._resources.get(factory)

    async def run(
        self,
        broker: ExecutionBroker,
        context: CallContext,
        source: str,
        *,
        policy: Mapping[str, Any] | None,
        inputs: Mapping[str, Any] | None,
    ) -> ExecutionResult:
        """Run code within the call of `context`: under the grant of `broker`, or less."""
        if broker.level >= MAX_LEVELS:
            raise ProviderError(f"code is nested more than {MAX_LEVELS} executions deep")
        opened, outer, flow = self._opened(), broker.grant, broker.flow
        chain = outer.chain
        if policy is not None:
            chain = await opened.chain_beneath(self._registry, chain, policy)
        request = ExecutionRequest(
            source=source,
            filename="<nested>",
            identity=broker.identity,
            on_output=None,
            inputs=await opened.encode_inputs(inputs, outer.namespace, context.principal),
            flow=flow,
            parent=ParentCall(broker=broker, request_id=context.request_id),
        )
        grant = Grant(
            execution_id=new_id(),
            namespace=outer.namespace,
            chain=chain,
            uncarded=outer.uncarded,
            costs=outer.costs,
        )
        try:
            return await opened.run(grant, request)
        finally:
            context.add_labels(*flow.answered)
