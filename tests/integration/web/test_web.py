"""`web.fetch` and `secrets.handle` from the sandbox and by `Runtime.call`: one path, one audit."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from caps import MemoryAuditLog, PolicyDeniedError, Runtime, builtin_registry
from caps.providers.web import engine
from caps.security.audit import DecisionMade, OutcomeRecorded
from support.web_calls import policy
from support.web_servers import WebServer

pytestmark = pytest.mark.anyio

SECRET = "s3cret-value-of-github"
PAGE = "<h1>Hello</h1><p>it is <b>me</b></p>"


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as found:
        found.page("/", PAGE)
        found.route("/moved", lambda exchange: exchange.redirect("/"))
        found.route("/out", lambda exchange: exchange.redirect("http://169.254.169.254/"))
        found.route(
            "/echo",
            lambda exchange: exchange.respond(
                exchange.headers.get("authorization", "none").encode(), content_type="text/plain"
            ),
        )
        yield found


@asynccontextmanager
async def opened(server: WebServer, **more: Any) -> AsyncIterator[tuple[Runtime, MemoryAuditLog]]:
    log = MemoryAuditLog()
    secrets = {"github": {"hosts": ["127.0.0.1"]}}
    given = policy(server.port, secrets=secrets)
    async with Runtime(
        given, registry=builtin_registry(plugins="off"), audit=log, **more
    ) as runtime:
        yield runtime, log


def chain(log: MemoryAuditLog) -> list[tuple[Any, ...]]:
    """What the log says of each call, without what differs between two of them."""
    decisions = [each for each in log.events if isinstance(each, DecisionMade)]
    outcomes = {each.request_id: each for each in log.events if isinstance(each, OutcomeRecorded)}
    return [
        (
            each.capability,
            each.shown,
            sorted(each.hidden),
            each.decision,
            each.rule,
            each.parent is not None,
            outcomes[each.request_id].status if each.request_id in outcomes else None,
        )
        for each in decisions
    ]


async def test_from_the_sandbox_and_without_one(server: WebServer) -> None:
    """The same answer and the same records, also of a redirect and of a denial."""
    code = """
page = await caps.web.fetch(url={moved!r}, as_markdown=True)
try:
    await caps.web.fetch(url={out!r})
except PolicyDeniedError as error:
    found = [page.content, page.url, page.final_url, page.format, error.reason]
found
"""
    moved, out = server.url("/moved"), server.url("/out")
    async with opened(server) as (runtime, log):
        inside = (await runtime.run(code.format(moved=moved, out=out))).unwrap()
        recorded = chain(log)
    async with opened(server) as (runtime, log):
        page = (await runtime.call("web.fetch", {"url": moved, "as_markdown": True})).unwrap()
        with pytest.raises(PolicyDeniedError) as raised:
            (await runtime.call("web.fetch", {"url": out})).unwrap()
        assert chain(log) == recorded
    outside = [page["content"], page["url"], page["final_url"], page["format"]]
    assert inside == [*outside, raised.value.details["reason"]]
    assert inside[0] == "# Hello\n\nit is **me**\n"
    assert [entry[3] for entry in recorded] == ["allow", "allow", "allow", "deny"]


async def test_a_secret_is_nowhere_but_on_the_wire(
    server: WebServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in results, output, records, spans or logs, although the page echoes it."""
    monkeypatch.setenv("CAPS_SECRET_GITHUB", SECRET)
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    code = """
handle = await caps.secrets.handle(name="github")
page = await caps.web.fetch(url={url!r}, headers={{"Authorization": f"Bearer {{handle}}"}})
print(handle, page.content)
[handle, dict(page)]
"""
    with caplog.at_level(logging.DEBUG):
        async with opened(server, tracer_provider=provider) as (runtime, log):
            result = await runtime.run(code.format(url=server.url("/echo")))
    assert server.seen[0].headers["authorization"] == f"Bearer {SECRET}"
    assert result.value[1]["content"] == "Bearer [secret]"
    finished = [span.to_json() for span in spans.get_finished_spans()]
    assert len(finished) > 2
    for text in (repr(result), repr(log.events), repr(finished), caplog.text):
        assert SECRET not in text


async def test_a_session_keeps_a_handle_from_cell_to_cell(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the next execution has nothing of it."""
    monkeypatch.setenv("CAPS_SECRET_GITHUB", SECRET)
    use = f"(await caps.web.fetch(url={server.url('/echo')!r}, headers={{'X-A': handle}})).content"
    async with opened(server) as (runtime, _):
        async with runtime.session() as session:
            first = await session.run("handle = await caps.secrets.handle(name='github')\nhandle")
            assert (await session.run(use)).value == "none"
        later = await runtime.run(f"handle = {first.value!r}\n{use}")
    assert server.seen[0].headers["x-a"] == SECRET
    assert later.error is not None
    assert later.error.type == "PolicyDeniedError"
    assert len(server.seen) == 1


async def test_a_worker_has_neither_the_client_nor_the_secrets(server: WebServer) -> None:
    """No module of either is importable there."""
    async with opened(server) as (runtime, _):
        for module in ("httpcore2", "caps.capabilities.secrets.handles", "html_to_markdown"):
            result = await runtime.run(f"import {module}")
            assert result.error is not None


async def test_without_the_extra_everything_else_works(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the error says what to install."""
    monkeypatch.setattr(engine, "find_spec", lambda _name: None)
    async with opened(server) as (runtime, _):
        assert (await runtime.run("1 + 1")).value == 2
        result = await runtime.call("web.fetch", {"url": server.url("/")})
    assert result.error is not None
    assert result.error.message == (
        "`web.fetch` needs the extra `web`; install `caps-runtime[web]`"
    )
    assert server.connections == 0


def test_registering_imports_no_client(tmp_path: Path) -> None:
    """The cold start stays as it was."""
    import subprocess
    import sys

    code = (
        "import sys\nfrom caps import builtin_registry\nbuiltin_registry(plugins='off')\n"
        "heavy = 'httpcore2 html_to_markdown h11 idna truststore caps.providers.web.engine'\n"
        "print([name for name in heavy.split() if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "[]"
