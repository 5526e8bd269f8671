"""`/v1/executions` and `/v1/calls`: run code, follow it, cancel it; make one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caps.client.exchange import Program, Sleep, exchange, poll_pauses, with_key
from caps.client.feed import EventFeed
from caps.client.message import Answer, Request, Route, converted, json_body, read_as
from caps.client.settings import ClientSettings
from caps.client.values import Call, Execution, Page

CREATE = Route("POST", "/v1/executions")
LIST = Route("GET", "/v1/executions")
GET = Route("GET", "/v1/executions/{execution_id}")
EVENTS = Route("GET", "/v1/executions/{execution_id}/events")
CANCEL = Route("POST", "/v1/executions/{execution_id}/cancel")
CALL = Route("POST", "/v1/calls")

_CALL_MARGIN_SECONDS = 10.0


def read_execution(answer: Answer) -> Execution:
    """An execution with the result of code, or of a plan. Raises AnswerInvalidError."""
    document = answer.decode(dict[str, Any])
    result = document.get("result")
    if isinstance(result, dict) and "steps" in result:
        document = {**document, "result": None, "plan_result": result}
    return converted(document, Execution)


def start_execution(
    code: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    argv: Sequence[str] | None = None,
    agent_id: str | None = None,
    policy: Mapping[str, Any] | None = None,
    session: str | None = None,
    filename: str | None = None,
    check: bool = False,
    budget: float | None = None,
    idempotency_key: str | None = None,
) -> Request[Execution]:
    """Run code in the background: the answer comes at once. `run` waits for its end."""
    fields = {
        "code": code,
        "inputs": inputs,
        "argv": None if argv is None else list(argv),
        "agent_id": agent_id,
        "policy": policy,
        "session": session,
        "filename": filename,
        "check": check,
        "budget": budget,
        "wait": False,
    }
    made: Request[Execution] = Request(
        method=CREATE.method,
        path=CREATE.path(),
        body=json_body(fields),
        read=read_execution,
        accepted=frozenset({201, 202}),
    )
    return with_key(made, idempotency_key)


def list_executions(*, limit: int = 50, cursor: str | None = None) -> Request[Page[Execution]]:
    """A page of one's executions, newest first, without results; `executions` iterates over all."""
    return Request(
        method=LIST.method,
        path=LIST.path(),
        query={"limit": limit, "cursor": cursor},
        read=read_as(Page[Execution]),
        is_repeatable=True,
    )


def get_execution(execution_id: str) -> Request[Execution]:
    """Where an execution stands, and its result once there is one."""
    path = GET.path(execution_id=execution_id)
    return Request(method=GET.method, path=path, read=read_execution, is_repeatable=True)


def cancel_execution(execution_id: str) -> Request[Execution]:
    """Kill it. One that has ended already stays as it is, so this can be repeated."""
    path = CANCEL.path(execution_id=execution_id)
    return Request(method=CANCEL.method, path=path, read=read_execution, is_repeatable=True)


def event_feed(settings: ClientSettings, execution_id: str, after: int) -> EventFeed:
    """The events after number `after`, until the last one."""
    request: Request[None] = Request(
        method=EVENTS.method,
        path=EVENTS.path(execution_id=execution_id),
        read=lambda _answer: None,
        is_repeatable=True,
    )
    return EventFeed(request, after, settings)


def wait(
    settings: ClientSettings, execution_id: str, *, seconds: float | None = None
) -> Program[Execution]:
    """The execution once it has ended. Raises WaitTimeoutError after `seconds`; it goes on then."""
    for pause in poll_pauses(execution_id, seconds):
        found = yield from exchange(get_execution(execution_id), settings)
        if found.is_ended:
            return found
        yield Sleep(pause)
    raise AssertionError("the pauses have no end")


def run(
    settings: ClientSettings,
    code: str,
    *,
    inputs: Mapping[str, Any] | None = None,
    argv: Sequence[str] | None = None,
    agent_id: str | None = None,
    policy: Mapping[str, Any] | None = None,
    session: str | None = None,
    filename: str | None = None,
    check: bool = False,
    budget: float | None = None,
    seconds: float | None = None,
) -> Program[Execution]:
    """Run code and wait for its end. Raises WaitTimeoutError after `seconds`; it goes on then."""
    begun = yield from exchange(
        start_execution(
            code,
            inputs=inputs,
            argv=argv,
            agent_id=agent_id,
            policy=policy,
            session=session,
            filename=filename,
            check=check,
            budget=budget,
        ),
        settings,
    )
    return (yield from wait(settings, begun.id, seconds=seconds))


def call(
    function: str,
    payload: Mapping[str, Any] | None = None,
    *,
    agent_id: str | None = None,
    policy: Mapping[str, Any] | None = None,
    session: str | None = None,
    timeout_ms: int | None = None,
    idempotency_key: str | None = None,
) -> Request[Call]:
    """One call of one function. A refusal is a result: see `ok` and `error`.

    It is sent again after a broken connection only if you give an `idempotency_key`: the service
    keeps the keys of calls in memory, so they do not outlive it.
    """
    fields = {
        "function": function,
        "payload": {} if payload is None else payload,
        "agent_id": agent_id,
        "policy": policy,
        "session": session,
        "timeout_ms": timeout_ms,
    }
    made: Request[Call] = Request(
        method=CALL.method,
        path=CALL.path(),
        body=json_body(fields),
        read=read_as(Call),
        seconds=None if timeout_ms is None else timeout_ms / 1000 + _CALL_MARGIN_SECONDS,
    )
    return made if idempotency_key is None else with_key(made, idempotency_key)
