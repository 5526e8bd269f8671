"""The small built-in capabilities: from code in a worker and by single calls, with records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.security.audit import DecisionMade, ExecutionStarted, OutcomeRecorded

pytestmark = pytest.mark.anyio

ALLOW = ["time.*", "math.*", "test_weather.*", "todos.*", "sandbox.*"]


@asynccontextmanager
async def opened(
    audit: MemoryAuditLog | None = None, **policy: Any
) -> AsyncIterator[tuple[Runtime, MemoryAuditLog]]:
    audit = MemoryAuditLog() if audit is None else audit
    given = {"id": "small", "allow": ALLOW, **policy}
    async with Runtime(given, registry=builtin_registry(plugins="off"), audit=audit) as runtime:
        yield runtime, audit


def todo(status: str, content: str = "Run tests") -> dict[str, str]:
    return {"content": content, "activeForm": "Running tests", "status": status}


GOOD: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("time.now", {"timezone": "UTC", "format": "unix"}, {"timezone": "UTC", "format": "unix"}),
    ("time.now", {}, {"timezone": "UTC", "format": "iso8601"}),
    ("math.add", {"a": 0.5, "b": 2}, {"result": 2.5}),
    ("math.subtract", {"a": 2, "b": 3}, {"result": -1}),
    ("math.multiply", {"a": 4, "b": 3}, {"result": 12}),
    ("math.divide", {"a": 9, "b": 3}, {"result": 3}),
    (
        "test_weather.get_weather",
        {"city": " new  york ", "date": "2026-02-03", "units": "fahrenheit"},
        {"city": "new york", "date": "2026-02-03", "units": "fahrenheit"},
    ),
    ("test_weather.get_forecast", {"city": "Oslo", "days": 14}, {"city": "Oslo"}),
    ("todos.write", {"todos": []}, {"success": True, "total_tasks": 0, "warnings": []}),
    (
        "todos.write",
        {"todos": [todo("in_progress"), todo("pending"), todo("completed")]},
        {"total_tasks": 3, "pending": 1, "in_progress": 1, "completed": 1, "warnings": []},
    ),
    (
        "todos.write",
        {"todos": [todo("in_progress"), todo("in_progress")]},
        {"warnings": ["2 tasks are in progress; only one should be `in_progress`"]},
    ),
    (
        "todos.write",
        {"todos": [todo("pending"), todo("completed")]},
        {"warnings": ["no task is in progress; mark the one that you work on as `in_progress`"]},
    ),
    ("todos.write", {"todos": [todo("completed")]}, {"warnings": []}),
    ("sandbox.execute_code", {"code": "print('a'); 2 + 3"}, {"value": 5, "stdout": "a\n"}),
]

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("time.now", {"timezone": "Mars/Base"}, "there is no time zone `Mars/Base`"),
    ("time.now", {"format": "roman"}, "format"),
    ("math.divide", {"a": 1, "b": 0}, "division by zero"),
    ("math.add", {"a": "1", "b": 2}, "a"),
    ("math.multiply", {"a": 2**63, "b": 4}, "too large"),
    ("test_weather.get_weather", {"city": ""}, "city"),
    ("test_weather.get_weather", {"city": "  "}, "`city` is empty"),
    ("test_weather.get_weather", {"city": "Oslo", "date": "soon"}, "date"),
    ("test_weather.get_forecast", {"city": "Oslo", "days": 15}, "days"),
    ("test_weather.get_forecast", {"city": "Oslo", "start": "9999-12-31"}, "`start` is too late"),
    ("todos.write", {}, "todos"),
    ("todos.write", {"todos": [todo("done")]}, "status"),
    ("todos.write", {"todos": [{"content": "a", "status": "pending"}]}, "activeForm"),
    ("todos.write", {"todos": [todo("pending")] * 201}, "todos"),
    ("sandbox.execute_code", {"code": 3}, "code"),
    ("sandbox.execute_code", {"code": "1", "language": "ruby"}, "language"),
    ("sandbox.execute_code", {"code": "1", "policy": {"alow": []}}, "alow"),
    ("sandbox.execute_code", {"code": "1", "policy": {"tests": []}}, "cannot have `tests`"),
    ("sandbox.execute_code", {"code": "1", "inputs": {"a b": 1}}, "a b"),
]


@pytest.mark.parametrize(("name", "payload", "expected"), GOOD)
async def test_the_same_answer_and_records_from_code_and_by_a_call(
    name: str, payload: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Only the channel differs."""
    records = []
    for by_code in (True, False):
        async with opened() as (runtime, audit):
            if by_code:
                code = f"got = await caps.{name}(**payload)\nprint(got)\ngot"
                result = await runtime.run(code, inputs={"payload": payload})
                assert result.error is None
                answer = result.value
            else:
                answer = (await runtime.call(name, payload)).unwrap()
        shown = {key: answer[key] for key in expected}
        assert {key: str(value) for key, value in shown.items()} == {
            key: str(value) for key, value in expected.items()
        }
        events = [record.event for record in audit.records]
        records.append(
            [
                (type(event), event.capability)
                for event in events
                if isinstance(event, DecisionMade | OutcomeRecorded)
            ]
        )
    assert records[0] == records[1] == [(DecisionMade, name), (OutcomeRecorded, name)]


@pytest.mark.parametrize(("name", "payload", "said"), BAD)
async def test_bad_input_is_refused_in_one_line(
    name: str, payload: dict[str, Any], said: str
) -> None:
    """With the place or the reason; the same from code and by a call."""
    async with opened() as (runtime, _):
        by_call = await runtime.call(name, payload)
        by_code = await runtime.run(
            f"try:\n    await caps.{name}(**payload)\nexcept Exception as error:\n"
            "    print(type(error).__name__, error)",
            inputs={"payload": payload},
        )
    assert by_call.error is not None
    assert said in by_call.error.message
    assert "\n" not in by_call.error.message
    assert said in by_code.stdout


async def test_the_weather_of_a_city_and_day_is_always_the_same() -> None:
    """In every process, whatever the case of its name; another day has another one."""
    async with opened() as (runtime, _):
        days = []
        for city, day in (("Lima", 1), ("LIMA", 1), ("Lima", 2)):
            payload = {"city": city, "date": f"2026-03-0{day}"}
            found = (await runtime.call("test_weather.get_weather", payload)).unwrap()
            days.append((found["condition"], found["temperature"], found["humidity"]))
        forecast = await runtime.call(
            "test_weather.get_forecast", {"city": "lima", "days": 2, "start": "2026-03-01"}
        )
    assert days[0] == days[1] != days[2]
    assert days[0] == ("snow", 27.1, 81)
    assert [day["condition"] for day in forecast.unwrap()["days"]] == [days[0][0], days[2][0]]


class TestExecuteCode:
    async def test_the_nested_execution_names_the_call_in_its_record(self) -> None:
        """Also if no code made the call."""
        async with opened() as (runtime, audit):
            called = await runtime.call("sandbox.execute_code", {"code": "1"})
        events = [record.event for record in audit.records]
        (started,) = [event for event in events if isinstance(event, ExecutionStarted)]
        assert started.parent == f"{called.execution_id}/{called.request_id}"
        assert called.unwrap()["execution_id"] == started.execution_id

    async def test_code_gets_the_grant_of_its_caller_and_no_more(self) -> None:
        """A policy of its own is beneath that of the caller."""
        code = "[hasattr(caps, 'math'), hasattr(caps, 'time'), hasattr(caps, 'files')]"
        wide = {"allow": ["math.*", "files.*"], "scopes": {"files": {"allowlist": ["/"]}}}
        async with opened() as (runtime, _):
            same = await runtime.call("sandbox.execute_code", {"code": code})
            less = await runtime.call("sandbox.execute_code", {"code": code, "policy": wide})
        assert same.unwrap()["value"] == [True, True, False]
        assert less.unwrap()["value"] == [True, False, False]

    async def test_an_error_of_the_code_is_an_answer(self) -> None:
        """With its line and its hint."""
        async with opened() as (runtime, _):
            done = await runtime.call("sandbox.execute_code", {"code": "x = 1\nprint(y)"})
        answer = done.unwrap()
        assert (answer["ok"], answer["status"]) == (False, "code_failed")
        assert answer["error"]["type"] == "NameError"
        assert answer["error"]["line"] == 2

    async def test_time_and_output_are_bounded(self) -> None:
        """The code is killed, or its output is cut and the answer says so."""
        async with opened() as (runtime, _):
            endless = {"code": "while True: pass", "timeout_ms": 300}
            late = await runtime.call("sandbox.execute_code", endless)
            much = {"code": "print('x' * 1000)", "max_output": 10}
            cut = (await runtime.call("sandbox.execute_code", much)).unwrap()
        assert late.error is not None
        assert late.error.message == "the code did not end within 300 ms"
        assert cut["truncated"]
        assert cut["stdout"] == "x" * 10 + "\n[... the output was longer]"

    async def test_depth_is_bounded(self) -> None:
        """The innermost call says so."""
        code = "1"
        for _ in range(4):
            code = f"(await caps.sandbox.execute_code(code={code!r}))"
        async with opened() as (runtime, audit):
            found = (await runtime.run(code)).value
        while found["error"] is None:
            found = found["value"]
        assert found["error"]["message"] == "code is nested more than 3 executions deep"
        starts = [r for r in audit.records if isinstance(r.event, ExecutionStarted)]
        assert len(starts) == 4
