"""`AsyncClient`: the same on an event loop, asyncio or trio."""

from __future__ import annotations

import functools
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import anyio
import httpcore2

from caps.client.errors import ClientError
from caps.client.exchange import Outcome, Program, Send, Sleep, exchange
from caps.client.message import Answer, BodyReader, Request, header_map, problem_of, with_cursor
from caps.client.routes import agents as agent_routes
from caps.client.routes import approvals as approval_routes
from caps.client.routes import audit as audit_routes
from caps.client.routes import capabilities as capability_routes
from caps.client.routes import executions as execution_routes
from caps.client.routes import operation as operation_routes
from caps.client.routes import plans as plan_routes
from caps.client.routes import policies as policy_routes
from caps.client.routes import sessions as session_routes
from caps.client.routes import tools as tool_routes
from caps.client.settings import ClientSettings, service_place, token_source
from caps.client.transport import check_encoding, pool_options, timeouts, translated
from caps.client.values import Event, Page

P = ParamSpec("P")
T = TypeVar("T")


class AsyncDriver:
    """Sends requests over kept connections. Its tasks share one event loop."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        token_file: str | Path | None = None,
        settings: ClientSettings | None = None,
        ssl_context: ssl.SSLContext | None = None,
        plain_http: bool = False,
    ) -> None:
        """By default, the service of CAPS_SERVER with the token of CAPS_TOKEN or CAPS_TOKEN_FILE.

        `plain_http` allows `http://` to another host. Raises ConfigurationError.
        """
        self._place = service_place(url, plain_http=plain_http)
        self._token = token_source(token, token_file)
        self._settings = settings or ClientSettings()
        self._pool = httpcore2.AsyncConnectionPool(**pool_options(self._settings, ssl_context))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    async def _do(self, program: Program[T]) -> T:
        outcome: Outcome = None
        while True:
            try:
                step = program.send(outcome)
            except StopIteration as stop:
                found: T = stop.value
                return found
            outcome = await self._outcome(step)

    async def _outcome(self, step: Send | Sleep) -> Outcome:
        if isinstance(step, Sleep):
            await anyio.sleep(step.seconds)
            return None
        try:
            async with self._opened(step.request, is_stream=False) as (response, deadline):
                return await self._whole(step.request, response, deadline)
        except ClientError as error:
            return error

    @asynccontextmanager
    async def _opened(
        self, request: Request[Any], *, is_stream: bool
    ) -> AsyncIterator[tuple[httpcore2.Response, float]]:
        extensions, deadline = timeouts(request, self._settings, is_stream=is_stream)
        with translated():
            async with self._pool.stream(
                request.method,
                self._place.origin + request.target(self._place.prefix),
                headers=request.header_pairs(self._token()),
                content=request.body,
                extensions=extensions,
            ) as response:
                yield response, deadline

    async def _whole(
        self, request: Request[Any], response: httpcore2.Response, deadline: float
    ) -> Answer:
        headers = header_map(response.headers)
        check_encoding(headers)
        limit = request.bound(response.status, self._settings.max_answer_bytes)
        reader = BodyReader(limit, deadline)
        async with aclosing(response.aiter_stream()) as parts:
            async for part in parts:
                reader.add(part)
        return Answer(status=response.status, headers=headers, body=reader.body())

    async def events(self, execution_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """The events after number `after` as they happen, until `finished`. Raises ClientError.

        A connection that breaks is opened again, and goes on where it was.
        """
        feed = execution_routes.event_feed(self._settings, execution_id, after)
        while not feed.has_ended():
            broken: ClientError | None = None
            request = feed.request()
            try:
                async with self._opened(request, is_stream=True) as (response, deadline):
                    if response.status != 200:
                        raise problem_of(await self._whole(request, response, deadline))
                    check_encoding(header_map(response.headers))
                    async with aclosing(response.aiter_stream()) as parts:
                        async for part in parts:
                            for event in feed.receive(part):
                                yield event
                            if feed.has_ended():
                                return
            except ClientError as error:
                broken = error
            await anyio.sleep(feed.broken(broken))


def sends(build: Callable[P, Request[T]]) -> Callable[Concatenate[AsyncDriver, P], Awaitable[T]]:
    """The method that sends what `build` makes, and returns its answer. Raises ClientError."""

    @functools.wraps(build)
    async def method(client: AsyncDriver, /, *args: P.args, **keywords: P.kwargs) -> T:
        return await client._do(exchange(build(*args, **keywords), client._settings))  # noqa: SLF001

    return method


def runs(
    build: Callable[Concatenate[ClientSettings, P], Program[T]],
) -> Callable[Concatenate[AsyncDriver, P], Awaitable[T]]:
    """The method that carries out a program of several requests. Raises ClientError."""

    @functools.wraps(build)
    async def method(client: AsyncDriver, /, *args: P.args, **keywords: P.kwargs) -> T:
        return await client._do(build(client._settings, *args, **keywords))  # noqa: SLF001

    return method


def pages(
    build: Callable[P, Request[Page[T]]],
) -> Callable[Concatenate[AsyncDriver, P], AsyncIterator[T]]:
    """The method that iterates over all items of a list, page by page. Raises ClientError."""

    @functools.wraps(build)
    async def method(
        client: AsyncDriver, /, *args: P.args, **keywords: P.kwargs
    ) -> AsyncIterator[T]:
        request = build(*args, **keywords)
        while True:
            page = await client._do(exchange(request, client._settings))  # noqa: SLF001
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            request = with_cursor(request, page.next_cursor)

    return method


class AsyncClient(AsyncDriver):
    """The service, awaited."""

    list_capabilities = sends(capability_routes.list_capabilities)
    get_capability = sends(capability_routes.get_capability)

    create_agent = sends(agent_routes.create_agent)
    list_agents = sends(agent_routes.list_agents)
    agents = pages(agent_routes.list_agents)
    get_agent = sends(agent_routes.get_agent)
    get_agent_if_changed = sends(agent_routes.get_agent_if_changed)
    get_effective_agent = sends(agent_routes.get_effective_agent)
    change_agent = sends(agent_routes.change_agent)
    delete_agent = sends(agent_routes.delete_agent)

    start_execution = sends(execution_routes.start_execution)
    list_executions = sends(execution_routes.list_executions)
    executions = pages(execution_routes.list_executions)
    get_execution = sends(execution_routes.get_execution)
    cancel_execution = sends(execution_routes.cancel_execution)
    wait = runs(execution_routes.wait)
    run = runs(execution_routes.run)
    call = sends(execution_routes.call)

    list_sessions = sends(session_routes.list_sessions)
    sessions = pages(session_routes.list_sessions)
    list_files = sends(session_routes.list_files)
    download_file = sends(session_routes.download_file)
    upload_file = sends(session_routes.upload_file)
    delete_file = sends(session_routes.delete_file)

    validate_plan = sends(plan_routes.validate_plan)
    start_plan = sends(plan_routes.start_plan)

    list_approvals = sends(approval_routes.list_approvals)
    approvals = pages(approval_routes.list_approvals)
    allow_call = sends(approval_routes.allow_call)
    deny_call = sends(approval_routes.deny_call)

    list_policies = sends(policy_routes.list_policies)
    validate_policy = sends(policy_routes.validate_policy)
    lint_policy = sends(policy_routes.lint_policy)
    explain_decision = sends(policy_routes.explain_decision)
    diff_policies = sends(policy_routes.diff_policies)
    activate_policy = sends(policy_routes.activate_policy)

    query_audit = sends(audit_routes.query_audit)
    audit_records = pages(audit_routes.query_audit)
    verify_audit = sends(audit_routes.verify_audit)

    publish_tool = sends(tool_routes.publish_tool)
    list_tools = sends(tool_routes.list_tools)
    tools = pages(tool_routes.list_tools)
    get_tool = sends(tool_routes.get_tool)
    get_tool_version = sends(tool_routes.get_tool_version)

    check_alive = sends(operation_routes.check_alive)
    check_ready = sends(operation_routes.check_ready)
    get_metrics = sends(operation_routes.get_metrics)
    get_description = sends(operation_routes.get_description)
