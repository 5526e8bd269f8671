"""The HTTP service, a bare FastAPI application, and the library that the service calls.

Both servers are processes of their own with the same settings of uvicorn, and get the same requests
from the same client over kept connections, several at a time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec

from bench.interleaving import Stopwatch, Turn
from bench.sides.caps import POLICY, open_runtime
from caps import CapabilityRegistry, Runtime

_SECRET = "a secret for the benchmark, which is long enough"
_CAPS = "from caps.cli.main import main; main()"
_BARE = """
import asyncio, socket, sys
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
class Call(BaseModel):
    function: str
    payload: dict
class Execution(BaseModel):
    code: str
app = FastAPI()
ITEMS = {"items": [{"id": str(n), "name": "n" * 12, "description": "d" * 60, "status": "available",
                    "icon": None, "category": None} for n in range(14)], "total": 14}
@app.get("/v1/capabilities")
async def capabilities(): return ITEMS
@app.post("/v1/calls")
async def calls(body: Call): return {"ok": True, "value": {"result": 5}}
@app.post("/v1/executions", status_code=201)
async def executions(body: Execution): return {"status": "finished", "result": {"value": 6}}
listener = socket.create_server(("127.0.0.1", 0))
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as `caps serve` does
print(f"serving on http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
config = uvicorn.Config(app, lifespan="off", access_log=False, log_config=None, server_header=False)
asyncio.run(uvicorn.Server(config).serve([listener]))
"""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The requests of one turn, and how many are sent at the same time."""

    method: str
    path: str
    body: bytes | None
    status: int
    times: int
    concurrent: int


@asynccontextmanager
async def _process(*arguments: str, **variables: str) -> AsyncIterator[str]:
    """A server, and its address, which it prints as `caps serve` does."""
    environment = {"PATH": os.environ["PATH"], **variables}
    command = [sys.executable, "-c", *arguments]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment, process_group=0
    ) as process:
        assert process.stderr is not None
        said: list[str] = []
        for line in process.stderr:
            said.append(line)
            if "serving on " in line:
                break
        try:
            if not said or "serving on " not in said[-1]:
                raise RuntimeError(f"the server did not start: {''.join(said)}")
            # The log of requests has to be read: a full pipe would hold the server up.
            reader = threading.Thread(target=process.stderr.read, daemon=True)
            reader.start()
            yield said[-1].split()[-1]
        finally:
            process.terminate()


@asynccontextmanager
async def _service() -> AsyncIterator[tuple[str, str]]:
    """The address of `caps serve` on SQLite, and a token."""
    from caps.agents.sign_in_settings import SignInSettings
    from caps.service.signin.tokens import make_token

    with tempfile.TemporaryDirectory() as state:
        secret, policy = Path(state, "secret"), Path(state, "policy.json")
        secret.write_text(_SECRET)
        policy.write_text(json.dumps(POLICY))
        token = make_token(
            _SECRET.encode(), SignInSettings(), principal="bench", role="runner", seconds=3600
        )
        async with _process(
            *(_CAPS, "serve", "--port", "0", "--requests-per-second", "100000"),
            XDG_STATE_HOME=state,
            CAPS_TOKEN_SECRET_FILE=str(secret),
            CAPS_POLICY_PATH=str(policy),
            CAPS_AUDIT_DURABILITY="os",
            CAPS_ISOLATION=os.environ.get("CAPS_ISOLATION", ""),
        ) as address:
            yield address, token


def of_service(load: Load) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """`caps serve`: sign-in, role, limits, decision, evidence, store."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with _service() as (address, token), _requests(address, token, load) as turn:
            yield turn

    return opened


def of_bare_route(load: Load) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """A FastAPI route that answers with a constant of the same form."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with _process(_BARE) as address, _requests(address, "none", load) as turn:
            yield turn

    return opened


@asynccontextmanager
async def _requests(address: str, token: str, load: Load) -> AsyncIterator[Turn]:
    import httpcore2

    headers = [("Authorization", f"Bearer {token}"), ("Content-Type", "application/json")]
    async with httpcore2.AsyncConnectionPool(max_connections=load.concurrent) as pool:

        async def ask() -> None:
            answer = await pool.request(
                load.method, address + load.path, headers=headers, content=load.body
            )
            if answer.status != load.status:
                raise RuntimeError(f"status {answer.status}: {answer.content[:200]!r}")

        yield _turn(ask, load)


def of_library(
    load: Load, ask: Callable[[Runtime], Awaitable[Any]]
) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """The same by a call of the library, without HTTP, sign-in and store."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with open_runtime() as runtime:

            async def once() -> None:
                await ask(runtime)

            yield _turn(once, load)

    return opened


def _turn(ask: Callable[[], Awaitable[None]], load: Load) -> Turn:
    """The time of one request when several are sent at the same time."""

    async def some(count: int) -> None:
        for _ in range(count):
            await ask()

    async def turn() -> float:
        with Stopwatch() as watch:
            async with anyio.create_task_group() as tasks:
                for _ in range(load.concurrent):
                    tasks.start_soon(some, load.times // load.concurrent)
        return watch.microseconds / (load.times // load.concurrent * load.concurrent)

    return turn


def listed(registry: CapabilityRegistry) -> bytes:
    """What `GET /v1/capabilities` answers."""
    from caps.capabilities.catalogue.declaration import listing

    return msgspec.json.encode(listing(registry.known_capabilities()))
