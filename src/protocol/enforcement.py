"""How far each isolation layer is in force (fully, partially, not), and how to close a gap."""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec


class Enforcement(enum.Enum):
    """How much of a layer is in force."""

    FULLY = "fully"
    PARTIALLY = "partially"
    NOT = "not"


class Layer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One layer as it was applied: what is in force, and how to close the gap if there is one."""

    name: str
    enforcement: Enforcement
    detail: str
    remedy: str = ""


# The names of all layers, from the innermost out. A report that lacks one is not full.
LAYERS = (
    "language",
    "process",
    "identity",
    "namespaces",
    "root",
    "privileges",
    "landlock",
    "seccomp",
    "rlimits",
    "memory",
)


def missing_layers(layers: Iterable[Layer], *, real_modules: bool = False) -> list[Layer]:
    """The layers that are less than fully in force, layers that were not reported among them.

    Where the policy grants real modules, a language layer that is partially in force is expected.
    """
    found = {layer.name: layer for layer in layers}
    missing = [
        Layer(name=name, enforcement=Enforcement.NOT, detail="not reported")
        for name in LAYERS
        if name not in found
    ]
    expected = {"language": Enforcement.PARTIALLY} if real_modules else {}
    return [
        layer
        for layer in found.values()
        if layer.enforcement not in (Enforcement.FULLY, expected.get(layer.name))
    ] + missing
