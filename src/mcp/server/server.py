"""The server: what a client may ask, answered for the caller of each request.

It is one object of the SDK for all callers and both transports. A tool of the caller becomes a
`Runtime.call`, code a `Runtime.stream`; both are decided, recorded and limited like any other, with
the MCP session as the session of the caller and `mcp` as the way in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplateReference,
    SetLevelRequestParams,
    Tool,
)

from caps.capabilities.progress import progress_to
from caps.capabilities.runtime.call import CallResult
from caps.capabilities.runtime.runtime import Runtime
from caps.capabilities.runtime.stream import Decided, StreamEvent
from caps.capabilities.telemetry.mcp import McpTelemetry
from caps.mcp.server.caller import Caller, CallerOf, Context
from caps.mcp.server.code import code_tool, execute_code, told
from caps.mcp.server.content import call_result, error_text, failed, text
from caps.mcp.server.guard import Guard, message_of
from caps.mcp.server.limits import ServerLimits
from caps.mcp.server.notices import LogLevels, Notices, open_notices
from caps.mcp.server.resources import (
    PATH,
    TEMPLATE,
    complete_path,
    has_resources,
    list_resources,
    read_resource,
)
from caps.mcp.server.search import search, search_tool
from caps.mcp.server.tools import EXECUTE_CODE, SEARCH, Offer, Offers, function_named
from caps.protocol.errors import CapsError
from caps.protocol.text import did_you_mean, printable
from caps.protocol.version import package_version

INSTRUCTIONS: Final = "instructions"
_ABOUT: Final = (
    "Tools that a policy grants, each call decided and recorded. Use `execute_code` to combine "
    "several of them in one program, and `search_capabilities` to find more."
)
T = TypeVar("T")


class CapsServer:
    """Answers requests. `sdk` is what the transports of the SDK drive."""

    def __init__(
        self,
        runtime: Runtime,
        caller_of: CallerOf,
        *,
        transport: str,
        tools: str = "auto",
        with_code: bool = True,
        limits: ServerLimits | None = None,
    ) -> None:
        """`transport` is `pipe` or `tcp`; `tools` is one of `TOOL_MODES`."""
        self.limits = ServerLimits() if limits is None else limits
        self._runtime = runtime
        self._caller_of = caller_of
        self._mode = tools
        self._with_code = with_code
        self._offers = Offers(runtime)
        self._levels = LogLevels()
        self._code_tools: dict[int, tuple[Offer, Tool]] = {}
        self.sdk: Server[dict[str, Any]] = Server(
            "caps",
            version=package_version(),
            title="Caps",
            instructions=_ABOUT,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        # Not as an argument: that is deprecated, and clients of 2025 still send it.
        self.sdk.add_request_handler("logging/setLevel", SetLevelRequestParams, self._set_level)
        telemetry = McpTelemetry(transport=transport)
        guard = Guard(caller_of, self._tool_of, telemetry, self.limits)
        self.sdk.middleware[:] = [guard]  # in place of the SDK's own spans

    def offer(self, caller: Caller) -> Offer:
        """What the caller may use now."""
        return self._offers.of(caller)

    def listed_tools(self, caller: Caller) -> list[Tool]:
        """All tools that a client sees."""
        offer = self.offer(caller)
        searches = self._mode == "search" or (
            self._mode == "auto" and len(offer.tools) > self.limits.listed_tools
        )
        own = [self._code_tool(offer, with_stubs=not searches)] if self._with_code else []
        own.append(search_tool(self.limits))
        return own if searches else [*own, *(each.tool for each in offer.tools.values())]

    def _code_tool(self, offer: Offer, *, with_stubs: bool) -> Tool:
        key = id(offer) * 2 + with_stubs
        found = self._code_tools.get(key)
        if found is None:
            if len(self._code_tools) > 64:
                self._code_tools.clear()
            made = code_tool(self._runtime.registry, offer, self.limits, with_stubs=with_stubs)
            found = self._code_tools[key] = (offer, made)
        return found[1]

    async def _list_tools(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        tools = self.listed_tools(self._caller_of(context))
        page, cursor = self._page(tools, params)
        return ListToolsResult(tools=list(page), next_cursor=cursor)

    def _page(
        self, items: Sequence[T], params: PaginatedRequestParams | None
    ) -> tuple[Sequence[T], str | None]:
        cursor = None if params is None else params.cursor
        start = 0
        if cursor is not None:
            if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
                raise MCPError(code=INVALID_PARAMS, message="the cursor is not one of this list")
            start = int(cursor)
        end = start + self.limits.page
        return items[start:end], str(end) if end < len(items) else None

    def _tool_of(self, context: Context) -> str | None:
        """The name, if it is that of a tool: others are not worth a metric each."""
        name = None if context.params is None else context.params.get("name")
        if context.method != "tools/call" or not isinstance(name, str):
            return None
        if name in (EXECUTE_CODE, SEARCH):
            return name
        return name if name in self.offer(self._caller_of(context)).tools else None

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        caller, arguments = self._caller_of(context), params.arguments or {}
        levels = self._levels.allowed(context, caller.session)
        try:
            async with open_notices(context, levels) as notices:
                if params.name == EXECUTE_CODE and self._with_code:
                    return await self._execute(caller, arguments, notices)
                return await self._call(caller, params.name, arguments, notices)
        except CapsError as error:
            return failed(message_of(error))

    async def _execute(
        self, caller: Caller, arguments: dict[str, Any], notices: Notices
    ) -> CallToolResult:
        def tell(event: StreamEvent) -> None:
            if isinstance(event, Decided):
                _log_decision(notices, event)
            message = told(event)
            if message is not None:
                notices.step(message)

        with progress_to(notices.step_of_call):
            return await execute_code(self._runtime, caller, arguments, self.limits, tell)

    async def _call(
        self, caller: Caller, name: str, arguments: dict[str, Any], notices: Notices
    ) -> CallToolResult:
        offer = self.offer(caller)
        if name == SEARCH:
            return search(self._runtime.registry, offer, arguments, self.limits)
        served = offer.tools.get(name)
        if served is None:
            return await self._refuse(caller, offer, name, arguments)
        notices.log("debug", {"event": "called", "tool": name})
        with progress_to(notices.progress):
            result = await self._run_call(caller, served.function, arguments)
        if result.decision is not None:
            _log_decision(notices, Decided(result.decision))
        how = "answered" if result.error is None else "failed"
        notices.log("debug", {"event": how, "tool": name, "execution_id": result.execution_id})
        return call_result(served, result)

    async def _refuse(
        self, caller: Caller, offer: Offer, name: str, arguments: dict[str, Any]
    ) -> CallToolResult:
        """A function that exists and is not granted is refused by the broker, on record."""
        function = function_named(name, self._runtime.registry.capabilities)
        if function is not None and function not in offer.chain.granted:
            result = await self._run_call(caller, function, arguments)
            if result.error is not None:
                return failed(error_text(result.error))
        known = [*offer.tools, SEARCH, *([EXECUTE_CODE] if self._with_code else [])]
        hint = did_you_mean(name, known)
        raise MCPError(code=INVALID_PARAMS, message=f"there is no tool `{printable(name)}`{hint}")

    async def _run_call(self, caller: Caller, function: str, payload: dict[str, Any]) -> CallResult:
        return await self._runtime.call(
            function,
            payload,
            principal=caller.principal,
            agent=caller.agent,
            session=caller.session,
            policy=list(caller.policies) or None,
            via="mcp",
        )

    async def _list_resources(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        caller = self._caller_of(context)
        if not has_resources(self.offer(caller)):
            return ListResourcesResult(resources=[])
        cursor = None if params is None else params.cursor
        return await list_resources(
            lambda name, payload: self._run_call(caller, name, payload), cursor, self.limits
        )

    async def _list_templates(
        self,
        context: Context,
        params: PaginatedRequestParams | None,  # noqa: ARG002 - there is one
    ) -> ListResourceTemplatesResult:
        is_there = has_resources(self.offer(self._caller_of(context)))
        return ListResourceTemplatesResult(resource_templates=[TEMPLATE] if is_there else [])

    async def _read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        caller = self._caller_of(context)
        return await read_resource(
            lambda name, payload: self._run_call(caller, name, payload), str(params.uri)
        )

    async def _list_prompts(
        self,
        context: Context,
        params: PaginatedRequestParams | None,  # noqa: ARG002 - there is one at most
    ) -> ListPromptsResult:
        if not self._caller_of(context).instructions:
            return ListPromptsResult(prompts=[])
        prompt = Prompt(name=INSTRUCTIONS, description="The instructions of the agent.")
        return ListPromptsResult(prompts=[prompt])

    async def _get_prompt(
        self, context: Context, params: GetPromptRequestParams
    ) -> GetPromptResult:
        instructions = self._caller_of(context).instructions
        if params.name != INSTRUCTIONS or not instructions:
            raise MCPError(
                code=INVALID_PARAMS, message=f"there is no prompt `{printable(params.name)}`"
            )
        return GetPromptResult(messages=[PromptMessage(role="user", content=text(instructions))])

    async def _complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        """Paths for the template of resources; there is nothing else to complete."""
        caller, reference = self._caller_of(context), params.ref
        is_path = isinstance(reference, ResourceTemplateReference) and params.argument.name == PATH
        if not is_path or not has_resources(self.offer(caller)):
            return CompleteResult(completion=Completion(values=[]))
        return CompleteResult(
            completion=await complete_path(
                lambda name, payload: self._run_call(caller, name, payload), params.argument.value
            )
        )

    async def _set_level(self, context: Context, params: SetLevelRequestParams) -> EmptyResult:
        self._levels.set(self._caller_of(context).session, params.level)
        return EmptyResult()


def _log_decision(notices: Notices, decided: Decided) -> None:
    decision = decided.decision
    refused = decision.decision == "deny"
    notices.log(
        "warning" if refused else "info",
        {
            "event": "decision",
            "function": decision.capability,
            "decision": decision.decision,
            "reason": decision.reason,
        },
    )
