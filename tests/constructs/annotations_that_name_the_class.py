# annotations that name their own class, or one that comes later (from Python 3.14 on)
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple, Protocol, TypedDict, get_type_hints


@dataclass
class Node:
    value: int
    next: Node | None = None
    owner: Owner | None = None


@dataclass(slots=True, frozen=True)
class Frozen:
    made: ClassVar[int] = 0
    other: Frozen | None = None


@dataclass
class Tree[T]:
    value: T
    children: list[Tree[T]]


class Link(NamedTuple):
    to: Link | None = None


class Record(TypedDict):
    parent: Record


class Comparable(Protocol):
    def less(self, other: Comparable) -> bool: ...


assert Node(1, Node(2)).next.value == 2
assert [one.name for one in fields(Node)] == ["value", "next", "owner"]
try:
    Node.__annotations__
    raise AssertionError
except NameError as error:
    assert "Owner" in str(error)


class Owner:
    def nodes(self) -> list[Node]: ...


assert Node.__annotations__ == {"value": int, "next": Node | None, "owner": Owner | None}
assert get_type_hints(Owner.nodes) == {"return": list[Node]}
assert Frozen(Frozen()).other == Frozen() and [one.name for one in fields(Frozen)] == ["other"]
assert Frozen.__annotations__ == {"made": ClassVar[int], "other": Frozen | None}
assert Tree(1, [Tree(2, [])]).children[0].value == 2
assert Link(Link()).to == Link() and Link.__annotations__ == {"to": Link | None}
assert Record(parent=None) == {"parent": None}
