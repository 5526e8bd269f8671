"""The two ways in, and what a result holds."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import anyio
import pytest

from caps import (
    AuditError,
    CapabilityRegistry,
    ConfigurationError,
    ExecutionError,
    MemoryAuditLog,
    PolicyInvalidError,
    RegistrationError,
    Runtime,
    builtin_registry,
)
from caps.security.audit import (
    AuditLog,
    AuditSettings,
    ExecutionEnded,
    PolicyLoaded,
    Rotation,
    VerifyStatus,
    read_records,
    verify_log,
)


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_runtime_works_on_both_backends(tmp_path: Path) -> None:
    """asyncio or trio: the same result, the same sound log."""
    policy = {"allow": ["math.add"]}
    async with Runtime(policy, registry=builtin_registry(), audit=tmp_path / "log") as runtime:
        result = await runtime.run("print('hi')\n(await caps.math.add(a=2, b=3)).result")
    assert (result.value, result.stdout) == (5, "hi\n")
    assert verify_log(tmp_path / "log").status is VerifyStatus.OK


def test_the_sync_way_in_serves_several_threads() -> None:
    """`run_sync` may be called from any thread while the runtime is open."""
    values: list[int] = []
    with Runtime({}, audit=MemoryAuditLog()) as runtime:
        threads = [
            threading.Thread(target=lambda n=n: values.append(runtime.run_sync(f"{n}*2").value))
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(values) == [0, 2, 4, 6]


def test_a_closed_runtime_says_how_to_open_it() -> None:
    """Neither way in works outside its `with`."""
    with pytest.raises(ConfigurationError, match="not open"):
        Runtime({}).run_sync("1")


def test_an_invalid_policy_refuses_to_start_and_is_recorded() -> None:
    """Nothing runs, and the refusal is evidence."""
    audit = MemoryAuditLog()
    with (
        pytest.raises(PolicyInvalidError, match=r"did you mean `math\.add`"),
        Runtime({"allow": ["math.ad"]}, registry=builtin_registry(), audit=audit),
    ):
        pass
    (loaded,) = [event for event in audit.events if isinstance(event, PolicyLoaded)]
    assert loaded.status == "refused"


def test_code_that_cannot_be_recorded_does_not_run() -> None:
    """The start of an execution is durable before its code is sent to a worker."""
    audit = MemoryAuditLog(capacity=1)
    with Runtime({}, audit=audit) as runtime:
        result = runtime.run_sync("1")
    assert result.status.value == "host_failed"
    assert result.error is not None
    assert (result.error.code, result.started) == (AuditError.code, False)


def test_a_result_tells_its_value_from_a_stand_in() -> None:
    """What cannot cross comes as its `repr`, marked."""
    with Runtime({}, audit=MemoryAuditLog()) as runtime:
        plain = runtime.run_sync("{'a': [1, 2.5, None, 'x'], 'big': 2**100}")
        strange = runtime.run_sync("object")
    assert (plain.value, plain.value_is_repr) == ({"a": [1, 2.5, None, "x"], "big": 2**100}, False)
    assert (strange.value, strange.value_is_repr) == ("<class 'object'>", True)


def test_values_of_the_library_cross_whole() -> None:
    """Objects that the code created through facades arrive with their types."""
    source = """
import datetime, decimal, dataclasses, enum, collections, fractions, uuid

class Colour(enum.Enum):
    RED = "red"

@dataclasses.dataclass
class Item:
    name: str
    price: decimal.Decimal
    colours: set

Point = collections.namedtuple("Point", "x y")
zone = datetime.timezone(datetime.timedelta(hours=2), "CEST")
[
    Item("a", decimal.Decimal("1.10"), {Colour.RED}),
    datetime.datetime(2024, 2, 29, 12, 30, tzinfo=zone),
    {(1, 2): Point(3, 4)},
    (fractions.Fraction(1, 3), 1j, uuid.UUID(int=5), datetime.timedelta(days=1)),
    frozenset([b"x"]),
]
"""
    with Runtime({}, audit=MemoryAuditLog()) as runtime:
        result = runtime.run_sync(source)
    assert (result.error, result.value_is_repr) == (None, False)
    assert result.value == [
        {"name": "a", "price": Decimal("1.10"), "colours": {"red"}},
        dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        {(1, 2): (3, 4)},
        (Fraction(1, 3), 1j, UUID(int=5), dt.timedelta(days=1)),
        frozenset([b"x"]),
    ]
    assert result.as_json()["value_spelling"] == "converted"


def test_a_value_that_changes_while_it_is_read_comes_as_its_repr() -> None:
    """A time zone class of the code may do anything when its offset is read."""
    source = """
import datetime

held = {"a": 1}

class Zone(datetime.tzinfo):
    def utcoffset(self, when):
        held["more"] = 2
        return datetime.timedelta(0)

held["when"] = datetime.time(tzinfo=Zone())
held
"""
    with Runtime({}, audit=MemoryAuditLog()) as runtime:
        result = runtime.run_sync(source)
    assert (result.ok, result.value_is_repr) == (True, True)


def test_checked_code_with_calls_that_must_fail_does_not_run() -> None:
    """All problems come together, nothing was printed, and the log says that nothing ran."""
    source = "print('hi')\nawait caps.math.ad(1, 2)\nawait caps.math.add(1, c=2)"
    audit = MemoryAuditLog()
    with Runtime({"allow": ["math.add"]}, registry=builtin_registry(), audit=audit) as runtime:
        checked = runtime.run_sync(source, check=True)
        unchecked = runtime.run_sync(source)
        good = runtime.run_sync("(await caps.math.add(1, 2)).result", check=True)
    assert (checked.started, checked.stdout, checked.usage.calls) == (False, "", 0)
    assert checked.error is not None
    assert (checked.error.code, checked.error.line) == ("source_error", 2)
    assert checked.error.details["kind"] == "checked"
    assert [problem["line"] for problem in checked.error.details["problems"]] == [2, 3, 3]
    ended = [event for event in audit.events if isinstance(event, ExecutionEnded)]
    assert [event.error_code for event in ended] == ["source_error", "policy_denied", None]
    assert (unchecked.started, unchecked.stdout) == (True, "hi\n")
    assert good.value == 3


def test_unwrap_raises_what_went_wrong() -> None:
    """For callers who prefer exceptions."""
    with Runtime({}, audit=MemoryAuditLog()) as runtime:
        assert runtime.run_sync("1 + 1").unwrap() == 2
        with pytest.raises(ExecutionError, match="division by zero"):
            runtime.run_sync("1 / 0").unwrap()


def test_output_is_streamed_as_it_is_printed() -> None:
    """The handler sees text before the code ends: the code waits for it."""
    seen: list[str] = []
    registry = CapabilityRegistry()

    @registry.capability("host.seen")
    async def told() -> str:
        return "".join(seen)

    with Runtime({"allow": ["host.seen"]}, registry=registry, audit=MemoryAuditLog()) as runtime:
        result = runtime.run_sync("print('before')\nawait caps.host.seen()", on_output=seen.append)
    assert result.value == "before\n"


def test_a_syntax_error_has_the_users_line_and_caret() -> None:
    """And says that nothing ran."""
    with Runtime({}, audit=MemoryAuditLog()) as runtime:
        result = runtime.run_sync("x = 1\ny = (2,\n", filename="plan.py")
    assert result.error is not None
    assert (result.error.line, result.error.column, result.started) == (2, 4, False)
    assert 'File "plan.py", line 2' in result.error.traceback
    assert "^" in result.error.traceback


def test_the_log_of_a_run_can_be_read_back(tmp_path: Path) -> None:
    """By execution, in order."""
    policy = {"allow": ["math.add"]}
    with Runtime(policy, registry=builtin_registry(), audit=tmp_path) as runtime:
        result = runtime.run_sync("await caps.math.add(a=1, b=1)")
    records = list(read_records(tmp_path, execution_id=result.execution_id))
    kinds = [type(record.event).__name__ for record in records]
    assert kinds == ["ExecutionStarted", "DecisionMade", "OutcomeRecorded", "ExecutionEnded"]


@pytest.mark.anyio
async def test_a_value_that_unfolds_without_end_comes_as_a_bounded_repr() -> None:
    """Forty lists that hold each other twice are a million million parts."""
    async with Runtime({}, audit=MemoryAuditLog()) as runtime:
        result = await runtime.run("x = []\nfor _ in range(40): x = [x, x]\nx")
    assert result.value_is_repr
    assert result.value.startswith("[[[[")


@pytest.mark.anyio
async def test_a_print_that_asks_for_it_is_flushed_in_a_flood() -> None:
    """What was flushed is seen, though the code is killed right after it."""
    flood = "for n in range(500): print(n)\nprint('last', flush=True)\nwhile True: pass"
    async with Runtime({"limits": {"wall_ms": 500}}, audit=MemoryAuditLog()) as runtime:
        result = await runtime.run(flood)
    assert result.stdout.endswith("499\nlast\n")


@pytest.mark.anyio
@pytest.mark.parametrize("source", [b"1", 3, None])
async def test_a_source_that_is_no_text_is_refused_before_anything_is_recorded(source: Any) -> None:
    """By every way in."""
    audit = MemoryAuditLog()
    async with Runtime({}, audit=audit) as runtime, runtime.session() as session:
        before = len(audit.lines)
        for run in (runtime.run, runtime.learn, session.run):
            with pytest.raises(TypeError, match=r"^source must be a `str`, not `\w+`$"):
                await run(source)
        for stream in (runtime.stream, session.stream):
            with pytest.raises(TypeError, match="source must be a `str`"):
                [event async for event in stream(source)]
        assert len(audit.lines) == before
        assert (await session.run("1")).value == 1


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["principal", "agent", "session"])
async def test_an_identity_that_is_not_a_string_is_refused_before_anything_is_recorded(
    name: str,
) -> None:
    """No reader could decode the records."""
    audit, who = MemoryAuditLog(), {name: cast("Any", 42)}
    async with Runtime({}, audit=audit) as runtime:
        before = len(audit.lines)
        with pytest.raises(ConfigurationError, match=f"{name} is `42`"):
            await runtime.run("1", **who)
        with pytest.raises(ConfigurationError, match=f"{name} is `42`"):
            [event async for event in runtime.stream("1", **who)]
        with pytest.raises(ConfigurationError, match=f"{name} is `42`"):
            runtime.session(**who)
        assert len(audit.lines) == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"registry": {}}, "registry must be a `CapabilityRegistry`, not `dict`"),
        ({"audit": 3}, "audit must be a path, `AuditSettings`, or a log, not `int`"),
        ({"audit": ""}, "audit is empty; pass the path of a directory"),
        ({"approver": ""}, "approver is empty; pass the path of a directory"),
        ({"audit": "\ud800"}, "audit is `\\ud800`, which cannot be the name of a file"),
        ({"audit": "a\0b"}, "audit is `a\\x00b`, which cannot be the name of a file"),
        ({"approver": "\ud800"}, "approver is `\\ud800`, which cannot be the name of a file"),
        ({"max_workers": -(10**5000)}, "max_workers is `-0x"),
        ({"audit": []}, "audit must be a path, `AuditSettings`, or a log, not `list`"),
        ({"namespace": 3}, "namespace must be a `str`, not `int`"),
        ({"isolation": 3}, "isolation must be `full` or `best-effort`, not `int`"),
        ({"workers": 3}, "workers must be a source of workers, or nothing, not `int`"),
        ({"max_workers": "3"}, "max_workers must be an integer of at least 1, not `str`"),
        ({"max_workers": 1.5}, "max_workers must be an integer of at least 1, not `float`"),
        (
            {"default_timeout_ms": True},
            "default_timeout_ms must be an integer from 1 to 3600000, not `bool`",
        ),
        ({"metrics": 3}, "metrics must be a Prometheus `CollectorRegistry`, not `int`"),
        (
            {"tracer_provider": 3},
            "tracer_provider must be an OpenTelemetry `TracerProvider`, not `int`",
        ),
        (
            {"meter_provider": 3},
            "meter_provider must be an OpenTelemetry `MeterProvider`, not `int`",
        ),
        ({"capture_arguments": 3}, "capture_arguments must be a `bool`, not `int`"),
        ({"watch": "yes"}, "watch must be a `bool`, not `str`"),
        (
            {"approver": 3},
            "approver must be an async function, or the path of a directory, not `int`",
        ),
    ],
)
def test_what_is_none_of_its_kind_is_one_plain_error(given: dict[str, Any], said: str) -> None:
    """Reported where the argument is passed, and not when the runtime is opened."""
    with pytest.raises(ConfigurationError) as raised:
        Runtime({}, **given)
    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)


@pytest.mark.anyio
async def test_revoking_takes_names() -> None:
    """Anything else is one plain error, also when nothing runs."""
    async with Runtime({}, audit=MemoryAuditLog()) as runtime:
        for foreign in (None, 3, b"e1", ["files.read"]):
            given: Any = foreign
            with pytest.raises(ConfigurationError, match=r"^execution_id must be a `str`, not `"):
                await runtime.revoke(given, "files.read")
            with pytest.raises(ConfigurationError, match=r"^capability must be a `str`, not `"):
                await runtime.revoke("e1", given)
            if foreign is not None:
                with pytest.raises(ConfigurationError, match=r"^by must be a `str`, or None"):
                    await runtime.revoke("e1", "files.read", by=given)


@pytest.mark.anyio
async def test_a_result_can_always_be_shown() -> None:
    """Also one with an integer of more digits than Python converts."""
    async with Runtime({}, audit=MemoryAuditLog()) as runtime:
        result = await runtime.run("[10**5000, 'x']")
    assert result.value == [10**5000, "x"]
    assert "value=['0x" in repr(result)
    assert repr(result).startswith("ExecutionResult(execution_id='")


@pytest.mark.parametrize(
    "fields",
    [
        {"checkpoint_seconds": 1e300},
        {"checkpoint_seconds": 10**5000},
        {"checkpoint_seconds": float("nan")},
        {"checkpoint_seconds": True},
        {"lock_seconds": 2.0**70},
        {"rotation": Rotation(seconds=float("inf"))},
        {"rotation": Rotation(bytes=1.5)},  # type: ignore[arg-type]
        {"directory": "\ud800"},
        {"checkpoints_to": "a\0b"},
    ],
)
def test_absurd_settings_of_the_log_are_one_plain_error(
    fields: dict[str, Any], tmp_path: Path
) -> None:
    """Before a thread waits for that long."""
    with pytest.raises(ConfigurationError) as raised:
        AuditLog.open(AuditSettings(**{"directory": tmp_path, **fields}))
    assert len(str(raised.value).splitlines()) == 1
    assert len(str(raised.value)) < 300


def test_a_namespace_that_nobody_could_write_is_refused_immediately() -> None:
    """And not by every execution."""
    with pytest.raises(RegistrationError, match=r"^`a\\nb` cannot be the name of a namespace$"):
        Runtime({}, namespace="a\nb")


@pytest.mark.anyio
async def test_what_cannot_hear_or_check_is_refused_before_the_code_runs() -> None:
    """In a run, and in those of a session."""
    foreign: Any = 3
    audit = MemoryAuditLog()
    async with Runtime({}, audit=audit) as runtime, runtime.session() as session:
        before = len(audit.lines)
        said = "^on_output must be a function of one string, not `int`$"
        for run in (runtime.run, runtime.learn, session.run):
            with pytest.raises(ConfigurationError, match=said):
                await run("print(1)", on_output=foreign)
        with pytest.raises(ConfigurationError, match="check must be a `bool`, not `int`"):
            await runtime.run("1", check=foreign)
        for name in ("max_runs", "idle_ms", "wall_ms"):
            limits: Any = {name: "3"}
            with pytest.raises(ConfigurationError, match=f"^{name} must be an? .*, not `str`$"):
                runtime.session(**limits)
        assert len(audit.lines) == before


@pytest.mark.anyio
async def test_a_sync_way_in_says_what_to_use_in_an_event_loop() -> None:
    """The runtime is open, but not for it."""
    async with Runtime({}, audit=MemoryAuditLog()) as runtime:
        said = "opened with `async with`; use `await runtime.run`"
        with pytest.raises(ConfigurationError, match=said):
            runtime.run_sync("1")
        with pytest.raises(ConfigurationError, match=r"use `async with runtime\.session`"):
            runtime.session_sync().__enter__()


@pytest.mark.parametrize("way", ["run", "learn", "stream", "session"])
def test_who_awaits_it_on_another_event_loop_is_told_at_once(way: str) -> None:
    """The loop that it waits for would never run there."""
    with Runtime({}, audit=MemoryAuditLog()) as runtime:

        async def elsewhere() -> None:
            match way:
                case "run":
                    await runtime.run("1")
                case "learn":
                    await runtime.learn("1")
                case "stream":
                    await anext(runtime.stream("1"))
                case _:
                    async with runtime.session() as session:
                        await session.run("1")

        with pytest.raises(ConfigurationError, match="opened on another event loop"):
            asyncio.run(asyncio.wait_for(elsewhere(), 20))
        assert runtime.run_sync("1").value == 1


def test_a_provider_without_an_await_may_use_anyio() -> None:
    """Also under plain asyncio, where the provider has no task by which anyio could detect it."""
    registry = CapabilityRegistry()

    @registry.capability("host.clock")
    async def clock() -> bool:
        anyio.Event().set()
        return anyio.current_time() > 0

    async def main() -> Any:
        policy = {"allow": ["host.*"]}
        async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
            twice = "[await caps.host.clock() for _ in range(2)]"
            return (await runtime.run(twice)).unwrap()

    assert asyncio.run(main()) == [True, True]


def test_the_text_of_an_error_of_the_code_is_not_in_the_audit() -> None:
    """It may quote anything that the code has read; its class is there, and a digest."""
    audit = MemoryAuditLog()
    with Runtime({}, audit=audit) as runtime:
        result = runtime.run_sync("raise ValueError('hunter2')")
    assert result.error is not None
    assert result.error.message == "hunter2"
    (ended,) = [event for event in audit.events if isinstance(event, ExecutionEnded)]
    assert ended.error_message == f"ValueError: {audit.redactor.digest('hunter2')}"
    assert b"hunter2" not in b"".join(audit.lines)
