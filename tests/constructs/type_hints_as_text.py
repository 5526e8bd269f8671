# `typing.get_type_hints` of annotations that are text
from __future__ import annotations

from typing import Annotated, Optional, get_type_hints


class Node:
    value: int
    parent: Optional[Node]
    children: list[Node]
    weight: Annotated[float, "kg"] = 1.0


def insert(node: Node, *, at: "int | None" = None) -> Node: ...


assert get_type_hints(Node) == {
    "value": int,
    "parent": Optional[Node],
    "children": list[Node],
    "weight": float,
}
assert get_type_hints(insert) == {"node": Node, "at": int | None, "return": Node}
assert get_type_hints(Node, include_extras=True)["weight"] == Annotated[float, "kg"]


class Tree:
    class Leaf: ...

    leaf: Leaf
    other: Local


class Local: ...


assert get_type_hints(Tree) == {"leaf": Tree.Leaf, "other": Local}
assert get_type_hints(Tree, {"Leaf": int}, {"Local": str}) == {"leaf": int, "other": str}
try:
    get_type_hints(Tree, {})
    raise AssertionError
except NameError as error:
    assert error.name == "Local"
