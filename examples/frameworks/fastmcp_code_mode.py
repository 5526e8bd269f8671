"""FastMCP's code mode with Caps as its sandbox. Needs `caps-runtime[fastmcp]`.

python examples/frameworks/fastmcp_code_mode.py
"""

import asyncio

from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.experimental.transforms.code_mode import CodeMode

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.adapters.fastmcp_sandbox import CapsSandbox
from caps.adapters.host_functions import HostFunctions

# What a model might send to the tool `execute`.
CODE = """
prices = [await call_tool("price", {"sku": sku}) for sku in ("tea", "milk")]
return sum(price["result"] for price in prices)
"""


async def main() -> None:
    registry = builtin_registry()
    host = HostFunctions(registry, raises=(ToolError,))
    policy = {"id": "shop", "allow": ["host.call"]}
    async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        sandbox = CapsSandbox(runtime, host)
        mcp = FastMCP("shop", transforms=[CodeMode(sandbox_provider=sandbox)])

        @mcp.tool
        def price(sku: str) -> int:
            """What it costs, in cents."""
            return 100 * len(sku)

        async with Client(mcp) as client:
            result = await client.call_tool("execute", {"code": CODE})
            print(result.content[0].text)


if __name__ == "__main__":
    asyncio.run(main())
