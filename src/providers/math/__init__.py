"""(7) The `math` domain and the capability `test_math`: four operations on two numbers.

Each returns a number or an error that says why not.

Integers stay integers, also in a division without a remainder. A result that the wire cannot encode
(an integer beyond 64 bits, an infinity, a NaN) is an error; it is never silently another number.
"""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.catalogue.capability import Capability, ToolDescriptor
from caps.capabilities.provider import ProviderError
from caps.capabilities.registry import CapabilityRegistry

MIN_INTEGER = -(2**63)
MAX_INTEGER = 2**64 - 1

Number = int | float
First = Annotated[Number, Field(description="the first number")]
Second = Annotated[Number, Field(description="the second number")]


class Result(TypedDict):
    """The number that came out."""

    result: Number


async def add(a: First, b: Second) -> Result:
    """Add two numbers."""
    _require_encodable("a", a)
    _require_encodable("b", b)
    return _result(a + b)


async def subtract(a: First, b: Second) -> Result:
    """Subtract the second number from the first."""
    _require_encodable("a", a)
    _require_encodable("b", b)
    return _result(a - b)


async def multiply(a: First, b: Second) -> Result:
    """Multiply two numbers."""
    _require_encodable("a", a)
    _require_encodable("b", b)
    return _result(a * b)


async def divide(a: First, b: Second) -> Result:
    """Divide the first number by the second; exact quotients of integers stay integers."""
    _require_encodable("a", a)
    _require_encodable("b", b)
    if b == 0:
        raise ProviderError("division by zero")
    if isinstance(a, int) and isinstance(b, int) and a % b == 0:
        return _result(a // b)
    return _result(a / b)


class TestMath(Capability):
    """The four operations, as tools."""

    key = "test_math"
    name = "Test Math"
    description = "Calculator tools for testing tool calling: add, subtract, multiply, divide."
    icon = "calculator"
    category = "Testing"
    system_prompt = (
        "You have access to math tools. Use them for calculations: add, subtract, multiply, divide."
    )
    tools = (
        ToolDescriptor("add", "Add", "Add two numbers.", "math.add"),
        ToolDescriptor(
            "subtract", "Subtract", "Subtract the second number from the first.", "math.subtract"
        ),
        ToolDescriptor("multiply", "Multiply", "Multiply two numbers.", "math.multiply"),
        ToolDescriptor("divide", "Divide", "Divide the first number by the second.", "math.divide"),
    )


def register_arithmetic(registry: CapabilityRegistry) -> None:
    """Declare the domain `math`, its four functions and the capability `test_math`."""
    registry.domain("math", scope=None, title="Math", description="Arithmetic on two numbers.")
    tags = frozenset({"pure"})
    registry.capability("math.add", title="Add", tags=tags, idempotent=True)(add)
    registry.capability("math.subtract", title="Subtract", tags=tags, idempotent=True)(subtract)
    registry.capability("math.multiply", title="Multiply", tags=tags, idempotent=True)(multiply)
    registry.capability("math.divide", title="Divide", tags=tags, idempotent=True)(divide)
    registry.register(TestMath)


def _is_encodable(number: Number) -> bool:
    if isinstance(number, int):
        return MIN_INTEGER <= number <= MAX_INTEGER
    return math.isfinite(number)


def _require_encodable(name: str, number: Number) -> None:
    # Before computing, so that the work is bounded for every caller.
    if isinstance(number, bool) or not _is_encodable(number):
        raise ProviderError(f"`{name}` must be a finite number; integers of at most 64 bits")


def _result(number: Number) -> Result:
    if not _is_encodable(number):
        raise ProviderError("the result is too large; integers have at most 64 bits")
    return {"result": number}
