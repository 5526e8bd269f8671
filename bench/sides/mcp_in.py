"""The tool of the MCP server of the benchmark as a function of Caps: through its bridge."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from bench.interleaving import Stopwatch, Turn
from bench.sides.caps import LIMITS, open_runtime
from bench.sides.mcp import SERVER
from caps import CapabilityRegistry

_POLICY = {"id": "bench", "allow": ["bench.add"], "limits": LIMITS}


def calls(how_many: int) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """`Runtime.call` of `bench.add`, one after the other: decided, recorded, compared, masked."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        with tempfile.TemporaryDirectory() as directory:
            registry = await _registry(Path(directory))
            async with open_runtime(policy=_POLICY, registry=registry) as runtime:

                async def turn() -> float:
                    with Stopwatch() as watch:
                        for _ in range(how_many):
                            result = await runtime.call("bench.add", {"a": 2, "b": 3})
                            result.unwrap()
                    return watch.microseconds / how_many

                yield turn

    return opened


async def _registry(pins: Path) -> CapabilityRegistry:
    """One that has the server, whose tools are accepted as they are."""
    from caps.mcp.client.config import servers_of
    from caps.mcp.client.pins import PinStore, make_pin
    from caps.mcp.client.probing import probe
    from caps.mcp.client.registering import register_mcp_servers

    config = {"command": sys.executable, "args": ["-I", str(SERVER)]}
    (server,) = servers_of({"mcpServers": {"bench": config}})
    offer = await probe(server)
    store = PinStore(pins)
    store.write(make_pin(server, offer.tools, offer.name, offer.version))
    registry = CapabilityRegistry()
    register_mcp_servers(registry, [server], store)
    return registry
