# `ClassVar`, `InitVar` and `KW_ONLY` as strings
from __future__ import annotations
import dataclasses
import typing as t
from dataclasses import KW_ONLY, InitVar, dataclass, field, fields
from typing import ClassVar


@dataclass
class Account:
    count: ClassVar[int] = 0
    limit: t.ClassVar = 10
    owner: str
    start: InitVar[int]
    bonus: dataclasses.InitVar[int] = 1
    _: KW_ONLY
    balance: int = field(default=0)

    def __post_init__(self, start, bonus):
        self.balance += start + bonus


assert [one.name for one in fields(Account)] == ["owner", "balance"]
a = Account("ann", 5, balance=2)
assert (a.owner, a.balance, Account.count, Account.limit) == ("ann", 8, 0, 10)
assert repr(a) == "Account(owner='ann', balance=8)"
try:
    Account("ann", 5, 1, 2)
    raise AssertionError
except TypeError:
    pass


@dataclass(slots=True, frozen=True)
class Point:
    unit: ClassVar[str] = "cm"
    x: int
    y: int = 0


assert Point(1) == Point(1, 0) and Point.unit == "cm"
assert Point.__annotations__ == {"unit": "ClassVar[str]", "x": "int", "y": "int"}
