"""Names of parameters of tests."""

from __future__ import annotations


def stable_repr(value: object) -> str:
    """`repr`, without the address of an object: all test processes must collect the same names."""
    return repr(value).partition(" at 0x")[0]
