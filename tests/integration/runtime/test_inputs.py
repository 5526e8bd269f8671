"""What an embedding program gives to the code: `inputs` and `argv`."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from caps import ConfigurationError, Finished, MemoryAuditLog, Runtime
from caps.capabilities.runtime.inputs import MAX_INPUT_BYTES
from caps.security.audit import ExecutionStarted

pytestmark = pytest.mark.anyio


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int


VALUES: dict[str, Any] = {
    "nothing": None,
    "truth": True,
    "number": 2**200,
    "ratio": 0.5,
    "text": "größer",
    "data": b"\0\xff",
    "rows": [{"a": 1}, {"a": 2}],
    "pair": (1, "two"),
    "members": {1, 2},
    "frozen": frozenset({"x"}),
    "table": {1: "one", (2, 3): "two"},
    "moment": dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC),
    "day": dt.date(2026, 1, 2),
    "span": dt.timedelta(days=1, microseconds=3),
    "price": Decimal("1.10"),
    "ident": UUID(int=7),
}


@pytest.fixture
def audit() -> MemoryAuditLog:
    return MemoryAuditLog()


@pytest.fixture
async def runtime(audit: MemoryAuditLog) -> AsyncIterator[Runtime]:
    async with Runtime(audit=audit) as runtime:
        yield runtime


class TestValues:
    """Every type that a result can have."""

    @pytest.mark.parametrize("name", VALUES)
    async def test_a_value_arrives_and_comes_back(self, runtime: Runtime, name: str) -> None:
        """As an ordinary name, with its type."""
        result = await runtime.run(name, inputs={name: VALUES[name]})
        value = result.unwrap()
        assert value == VALUES[name]
        assert type(value) is type(VALUES[name])

    async def test_a_dataclass_and_an_enum_are_converted(self, runtime: Runtime) -> None:
        """To the dict of its fields and to its value, as in a result."""
        result = await runtime.run("[p, c]", inputs={"p": Point(1, 2), "c": Colour.RED})
        assert result.unwrap() == [{"x": 1, "y": 2}, "red"]

    async def test_code_may_change_its_own_copy(self, runtime: Runtime) -> None:
        """The caller's value stays as it is."""
        rows = [1, 2]
        result = await runtime.run("rows.append(3)\nrows = rows + [4]\nrows", inputs={"rows": rows})
        assert result.unwrap() == [1, 2, 3, 4]
        assert rows == [1, 2]

    async def test_functions_see_them(self, runtime: Runtime) -> None:
        """They are globals."""
        source = "def double():\n    return limit * 2\ndouble()"
        assert (await runtime.run(source, inputs={"limit": 3})).unwrap() == 6

    async def test_the_same_code_with_other_values(self, runtime: Runtime) -> None:
        """The compiled program is kept, its inputs are not."""
        found = [(await runtime.run("n + 1", inputs={"n": n})).unwrap() for n in range(5)]
        assert found == [1, 2, 3, 4, 5]
        assert not (await runtime.run("n + 1")).ok


class TestSessions:
    """A session keeps the names."""

    async def test_a_cell_has_inputs_and_later_cells_keep_them(self, runtime: Runtime) -> None:
        """Until another value is given."""
        async with runtime.session() as session:
            assert (await session.run("n", inputs={"n": 1})).unwrap() == 1
            assert (await session.run("n + 1")).unwrap() == 2
            assert (await session.run("n", inputs={"n": 7})).unwrap() == 7

    async def test_a_bad_input_leaves_the_session_open(self, runtime: Runtime) -> None:
        """It is refused before anything is sent."""
        async with runtime.session() as session:
            with pytest.raises(ConfigurationError):
                await session.run("n", inputs={"n": object()})
            assert (await session.run("1")).unwrap() == 1

    async def test_check_in_a_session_and_in_a_stream(self, runtime: Runtime) -> None:
        """Code with a call that is certain to fail does not run."""
        source = "print('ran')\nawait caps.files.read(path='a')"
        async with runtime.session() as session:
            cell = await session.run(source, check=True)
        events = [event async for event in runtime.stream(source, check=True)]
        assert isinstance(events[-1], Finished)
        for result in (cell, events[-1].result):
            assert not result.started
            assert result.stdout == ""

    async def test_a_stream_has_inputs(self, runtime: Runtime) -> None:
        """As `run` has."""
        events = [event async for event in runtime.stream("n * 2", inputs={"n": 4})]
        assert isinstance(events[-1], Finished)
        assert events[-1].result.unwrap() == 8


class TestEvidence:
    """Names and digests, never values."""

    async def test_the_start_has_a_digest_of_each(
        self, runtime: Runtime, audit: MemoryAuditLog
    ) -> None:
        """Equal values have equal digests; the digest is that of an argument with this value."""
        await runtime.run("0", inputs={"a": "secret", "b": "secret", "größe": b"x"})
        (started,) = [event for event in audit.events if isinstance(event, ExecutionStarted)]
        digest = audit.redactor.digest("secret")
        assert started.inputs["a"] == started.inputs["b"] == digest
        assert len(started.inputs) == 3

    async def test_without_inputs_the_record_is_as_before(
        self, runtime: Runtime, audit: MemoryAuditLog
    ) -> None:
        """An absent value is an absent field."""
        await runtime.run("0")
        (started,) = [event for event in audit.events if isinstance(event, ExecutionStarted)]
        assert started.inputs == {}


class TestBadInput:
    """Refused in one line before anything is recorded."""

    @pytest.mark.parametrize(
        ("inputs", "message"),
        [
            ([("a", 1)], "inputs must be a mapping of names to values, not `list`"),
            ({1: 2}, "the name of an input must be a `str`, not `int`"),
            ({"1a": 2}, "input `1a` cannot be a name"),
            ({"class": 2}, "input `class` cannot be a name"),
            ({"": 2}, "cannot be a name"),
            ({"a" * 200: 2}, "cannot be a name"),
            ({"_getattr_": 2}, "input `_getattr_` is a reserved name"),
            ({"__builtins__": {}}, "input `__builtins__` is a reserved name"),
            ({"caps": 2}, "input `caps` is a reserved name"),
            ({"a": object()}, "input `a` cannot be sent: a `object` is not a plain value"),
            ({"a": "x" * MAX_INPUT_BYTES}, "input `a` cannot be sent: its value takes more than"),
            ({f"n{n}": n for n in range(300)}, "there are 300 inputs; pass at most 256"),
        ],
    )
    async def test_it_names_the_input(
        self, runtime: Runtime, audit: MemoryAuditLog, inputs: Any, message: str
    ) -> None:
        """And says what would be right."""
        with pytest.raises(ConfigurationError) as caught:
            await runtime.run("0", inputs=inputs)
        assert message in str(caught.value)
        assert not [event for event in audit.events if isinstance(event, ExecutionStarted)]

    async def test_all_together_are_bounded(self, runtime: Runtime) -> None:
        """Not each alone."""
        half = "x" * (MAX_INPUT_BYTES // 2)
        with pytest.raises(ConfigurationError, match="input `b` cannot be sent"):
            await runtime.run("0", inputs={"a": half, "b": half})

    async def test_a_value_that_contains_itself(self, runtime: Runtime) -> None:
        """The depth is bounded."""
        rows: list[Any] = []
        rows.append(rows)
        with pytest.raises(ConfigurationError, match="nests too deeply"):
            await runtime.run("0", inputs={"rows": rows})

    @pytest.mark.parametrize("argv", ["abc", [1], {"a"}, ["x"] * 2000, ["x" * 200_000]])
    async def test_arguments_are_a_bounded_list_of_strings(
        self, runtime: Runtime, argv: Any
    ) -> None:
        """Nothing else."""
        with pytest.raises(ConfigurationError, match="argv"):
            await runtime.run("0", argv=argv)


async def test_arguments_are_in_sys_argv(runtime: Runtime) -> None:
    """After the name of the file."""
    source = "from sys import argv\nargv"
    given = await runtime.run(source, filename="task.py", argv=["a", "--b"])
    assert given.unwrap() == ["task.py", "a", "--b"]
    assert (await runtime.run(source)).unwrap() == [""]
