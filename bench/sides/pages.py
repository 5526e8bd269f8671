"""Fetching a page of 20 kB from another process on this machine: Caps, and bare httpx2.

The server answers every request on a thread of its own and keeps connections open, so that a client
may use one again.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from bench.interleaving import Stopwatch, Turn
from bench.sides.caps import LIMITS, open_runtime

PAGE_BYTES = 20_000
_TIMES = 20

_SERVER = f"""
import http.server
class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536
    page = b"<p>page</p>" * ({PAGE_BYTES} // 11)
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(self.page)))
        self.end_headers()
        self.wfile.write(self.page)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
"""


@asynccontextmanager
async def _server() -> AsyncIterator[int]:
    """The port of the server."""
    command = [sys.executable, "-I", "-S", "-c", _SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, process_group=0) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@asynccontextmanager
async def caps_calls() -> AsyncIterator[Turn]:
    """`Runtime.call` of `web.fetch`: decided and recorded, and a connection for each."""
    async with _server() as port:
        scope = {"hosts": ["127.0.0.1"], "ports": [port], "loopback": True}
        policy = {"id": "bench", "allow": ["web.fetch"], "limits": LIMITS, "scopes": {"web": scope}}
        async with open_runtime(policy=policy) as runtime:
            url = f"http://127.0.0.1:{port}/"

            async def turn() -> float:
                with Stopwatch() as watch:
                    for _ in range(_TIMES):
                        result = await runtime.call("web.fetch", {"url": url})
                        result.unwrap()
                return watch.microseconds / _TIMES

            yield turn


def httpx_gets(*, keep: bool) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """httpx2: one client, whose connection is used again if `keep`."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        import httpx2

        limits = httpx2.Limits(max_keepalive_connections=None if keep else 0)
        async with _server() as port, httpx2.AsyncClient(trust_env=False, limits=limits) as client:
            url = f"http://127.0.0.1:{port}/"

            async def turn() -> float:
                with Stopwatch() as watch:
                    for _ in range(_TIMES):
                        response = await client.get(url)
                        assert response.status_code == 200
                        assert len(response.text) > PAGE_BYTES - 20
                return watch.microseconds / _TIMES

            yield turn

    return opened
