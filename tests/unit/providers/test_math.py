"""`math.*`: numbers that are right, or an error that says why not."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

import pytest

from caps.capabilities.provider import ProviderError
from caps.providers.math import (
    MAX_INTEGER,
    MIN_INTEGER,
    Number,
    Result,
    add,
    divide,
    multiply,
    subtract,
)

pytestmark = pytest.mark.anyio

Operation = Callable[[Number, Number], Awaitable[Result]]


@pytest.mark.parametrize(
    ("operation", "a", "b", "expected"),
    [
        (add, 2, 3, 5),
        (add, 0.5, 1, 1.5),
        (add, MAX_INTEGER, 0, MAX_INTEGER),
        (subtract, 2, 3, -1),
        (subtract, MIN_INTEGER, 0, MIN_INTEGER),
        (multiply, 4, 3, 12),
        (multiply, 4, 0.5, 2.0),
        (divide, 6, 3, 2),
        (divide, 7, 2, 3.5),
        (divide, 6.0, 3, 2.0),
        (divide, MAX_INTEGER, 3, MAX_INTEGER // 3),
    ],
)
async def test_integers_stay_integers(
    operation: Operation, a: Number, b: Number, expected: Number
) -> None:
    """The result has the value and the kind that one expects."""
    result = (await operation(a, b))["result"]
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize("a", [1, 0, 1.5, -0.0])
@pytest.mark.parametrize("b", [0, 0.0, -0.0])
async def test_division_by_zero_is_an_error(a: Number, b: Number) -> None:
    """Of integers and of floats alike."""
    with pytest.raises(ProviderError, match=r"^division by zero$"):
        await divide(a, b)


@pytest.mark.parametrize(
    ("operation", "a", "b"),
    [
        (add, MAX_INTEGER, 1),
        (subtract, MIN_INTEGER, 1),
        (multiply, MAX_INTEGER, MAX_INTEGER),
        (multiply, 1e308, 10),
        (add, 1.7e308, 1.7e308),
        (divide, 1e308, 1e-10),
    ],
)
async def test_a_result_that_the_wire_cannot_carry_is_an_error(
    operation: Operation, a: Number, b: Number
) -> None:
    """Neither an infinity nor a longer integer leaves the provider."""
    with pytest.raises(ProviderError, match="result is too large"):
        await operation(a, b)


@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan, 2**64, -(2**63) - 1, True])
@pytest.mark.parametrize("operation", [add, subtract, multiply, divide])
async def test_an_operand_out_of_range_is_refused_before_computing(
    operation: Operation, wrong: Number
) -> None:
    """On either side."""
    with pytest.raises(ProviderError, match="`a` must be"):
        await operation(wrong, 1)
    with pytest.raises(ProviderError, match="`b` must be"):
        await operation(1, wrong)
