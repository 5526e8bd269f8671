"""Python values as arguments and results of capabilities, with real workers."""

from __future__ import annotations

import ast
import dataclasses
import datetime as dt
import enum
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any
from uuid import UUID

import pydantic
import pytest
from typing_extensions import TypedDict

from caps import CapabilityRegistry, MemoryAuditLog, Runtime

pytestmark = pytest.mark.anyio


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    data: bytes = b""


class Customer(pydantic.BaseModel):
    name: str
    since: dt.date
    credit: Decimal = Decimal("1.50")


class Row(TypedDict):
    at: dt.datetime
    tags: set[str]


# For each type, a value in user space as Python source, and the value on the host.
VALUES: dict[str, tuple[Any, str, Any]] = {
    "datetime": (dt.datetime, "datetime(2026, 1, 2, 3, 4)", dt.datetime(2026, 1, 2, 3, 4)),
    "aware": (
        dt.datetime,
        "datetime(2026, 1, 2, tzinfo=timezone.utc)",
        dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
    ),
    "date": (dt.date, "date(2026, 1, 2)", dt.date(2026, 1, 2)),
    "time": (dt.time, "time(3, 4, 5)", dt.time(3, 4, 5)),
    "timedelta": (dt.timedelta, "timedelta(days=-2, seconds=3.5)", dt.timedelta(-2, 3.5)),
    "decimal": (Decimal, "Decimal('1.10')", Decimal("1.10")),
    "bytes": (bytes, "b'\\x00\\xff'", b"\x00\xff"),
    "uuid": (UUID, "UUID(int=7)", UUID(int=7)),
    "tuple": (tuple[int, str], "(1, 'a')", (1, "a")),
    "set": (set[int], "{1, 2}", {1, 2}),
    "list": (list[dt.date], "[date(2026, 1, 2)]", [dt.date(2026, 1, 2)]),
    "optional": (Decimal | None, "Decimal(2)", Decimal(2)),
}


@pytest.fixture
def registry() -> CapabilityRegistry:
    """`echo.<type>` for each type: it notes what it got, and returns it."""
    registry = CapabilityRegistry()

    def add(name: str, kind: Any) -> None:
        async def echo(value: Any) -> Any:
            seen.append(value)
            return value

        echo.__annotations__ = {"value": kind, "return": kind}
        registry.capability(f"echo.v_{name}")(echo)

    for name, (kind, _, _) in VALUES.items():
        add(name, kind)
    for name, kind in (
        ("colour", Colour),
        ("point", Point),
        ("customer", Customer),
        ("row", Row),
    ):
        add(name, kind)
    return registry


seen: list[Any] = []
IMPORTS = "from datetime import *\nfrom decimal import Decimal\nfrom uuid import UUID\n".replace(
    "*", "date, datetime, time, timedelta, timezone"
)


@pytest.fixture
async def runtime(registry: CapabilityRegistry) -> AsyncIterator[Runtime]:
    seen.clear()
    async with Runtime({"allow": ["echo.*"]}, registry=registry, audit=MemoryAuditLog()) as runtime:
        yield runtime


@pytest.mark.parametrize("name", VALUES)
async def test_a_value_goes_both_ways(runtime: Runtime, name: str) -> None:
    """The provider gets its type, and the code gets the same value back."""
    _, source, value = VALUES[name]
    result = await runtime.run(
        f"{IMPORTS}v = {source}\nw = await caps.echo.v_{name}(v)\n[w, w == v]"
    )
    back, same = result.unwrap()
    assert seen == [value]
    assert type(seen[0]) is type(value)
    assert same
    assert type(back) is type(value)


async def test_an_enum_member_and_its_value_are_both_accepted(runtime: Runtime) -> None:
    """The provider gets the member; the code gets the value."""
    source = """
from enum import Enum
class Colour(Enum):
    RED = "red"
[await caps.echo.v_colour(Colour.RED), await caps.echo.v_colour("red")]
"""
    assert (await runtime.run(source)).unwrap() == ["red", "red"]
    assert seen == [Colour.RED, Colour.RED]


async def test_a_dataclass_of_the_code_is_an_object(runtime: Runtime) -> None:
    """By its fields, with bytes inside; a record comes back."""
    source = """
from dataclasses import dataclass
@dataclass
class P:
    x: int
    data: bytes
p = await caps.echo.v_point(P(1, b"\\xff"))
q = await caps.echo.v_point(p)
[q.x, q.data]
"""
    assert (await runtime.run(source)).unwrap() == [1, b"\xff"]
    assert seen == [Point(1, b"\xff")] * 2


async def test_a_model_has_its_types(runtime: Runtime) -> None:
    """Also where a default filled it in."""
    source = f"""{IMPORTS}
c = await caps.echo.v_customer({{"name": "ada", "since": date(2026, 1, 2)}})
[c.since, c.credit]
"""
    assert (await runtime.run(source)).unwrap() == [dt.date(2026, 1, 2), Decimal("1.50")]
    assert seen[0].since == dt.date(2026, 1, 2)


async def test_a_typed_dict_has_its_types(runtime: Runtime) -> None:
    """Also in what comes back."""
    source = f"""{IMPORTS}
row = await caps.echo.v_row({{"at": datetime(2026, 1, 2), "tags": {{"a"}}}})
[row.at, row.tags]
"""
    assert (await runtime.run(source)).unwrap() == [dt.datetime(2026, 1, 2), {"a"}]


async def test_all_problems_are_listed(runtime: Runtime) -> None:
    """With what is valid."""
    result = await runtime.run("await caps.echo.v_customer({'name': 1, 'sinc': 2})")
    assert result.error is not None
    for part in ("$.value.name: expected type string", "required property `since`"):
        assert part in result.error.message


async def test_literals_are_checked_before_the_run(runtime: Runtime) -> None:
    """A set, a tuple or bytes where they fit are not certain to fail."""
    calls = ("v_set({1})", "v_bytes(b'a')", "v_tuple((1, 'a'))")
    source = "\n".join(f"await caps.echo.{call}" for call in calls)
    assert (await runtime.run(source, check=True)).ok
    assert not (await runtime.run("await caps.echo.v_set(1)", check=True)).started


async def test_stubs_have_the_types(runtime: Runtime) -> None:
    """One class a model, and nothing that a result always has may be missing."""
    text = runtime.stubs()
    ast.parse(text)
    for part in (
        "import datetime",
        "async def v_datetime(self, value: datetime.datetime) -> datetime.datetime:",
        "async def v_decimal(self, value: float | decimal.Decimal) -> decimal.Decimal:",
        "async def v_bytes(self, value: bytes) -> bytes:",
        "async def v_uuid(self, value: uuid.UUID) -> uuid.UUID:",
        "async def v_set(self, value: set[int]) -> set[int]:",
        "async def v_tuple(self, value: tuple[int, str]) -> tuple[int, str]:",
        "async def v_customer(self, value: Customer | dict[str, Any]) -> Customer:",
        "    credit: decimal.Decimal",
    ):
        assert part in text, part
    assert "Customer2" not in text
    assert "may be missing" not in text


async def test_a_text_that_does_not_fit_its_format_stays_text() -> None:
    """A hand-written schema may promise more than its provider keeps."""
    from caps import CapabilitySpec

    registry = CapabilityRegistry()

    async def provider(context: Any, payload: Any) -> Any:
        return {"at": "yesterday", "day": "2026-01-02"}

    registry.register(
        CapabilitySpec(
            name="odd.now",
            schema_out={
                "type": "object",
                "properties": {
                    "at": {"type": "string", "format": "date-time"},
                    "day": {"type": "string", "format": "date"},
                },
            },
        ),
        provider,
    )
    async with Runtime({"allow": ["odd.*"]}, registry=registry, audit=MemoryAuditLog()) as runtime:
        result = await runtime.run("r = await caps.odd.now()\n[r.at, r.day]")
    assert result.unwrap() == ["yesterday", dt.date(2026, 1, 2)]
