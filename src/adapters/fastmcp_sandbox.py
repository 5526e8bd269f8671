"""Caps as the sandbox of FastMCP's code mode. Needs the extra `fastmcp`.

host = HostFunctions(registry, raises=(ToolError,))
async with Runtime({"allow": ["host.call"]}, registry=registry) as runtime:
    mcp.add_transform(CodeMode(sandbox_provider=CapsSandbox(runtime, host)))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastmcp.exceptions import ToolError

from caps.adapters.host_functions import HostFunctions
from caps.capabilities.registry import PoliciesGiven
from caps.capabilities.runtime.runtime import Runtime


class CapsSandbox:
    """A `SandboxProvider`: each run is a session of its own, under the runtime's policies."""

    def __init__(
        self,
        runtime: Runtime,
        host: HostFunctions,
        *,
        principal: str = "anonymous",
        policy: PoliciesGiven | None = None,
    ) -> None:
        self._runtime = runtime
        self._host = host
        self._principal = principal
        self._policy = policy

    async def run(
        self,
        code: str,
        *,
        inputs: dict[str, Any] | None = None,
        external_functions: dict[str, Callable[..., Any]] | None = None,
    ) -> Any:
        """The value of the code. Raises ToolError with the text for the model if it fails."""
        functions = external_functions or {}
        session = self._runtime.session(principal=self._principal, policy=self._policy)
        async with session:
            with self._host.offered(session.id, functions):
                if functions:
                    (await session.run(self._host.definitions(functions))).unwrap()
                result = await session.run(code, inputs=inputs)
        if result.error is not None:
            raise ToolError(result.for_model())
        return result.as_json()["value"]
