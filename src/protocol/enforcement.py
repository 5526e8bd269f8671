"""Which layers hold the code, as values: fully, partially, or not, and what to do about it."""

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


def gaps(layers: Iterable[Layer], *, real_modules: bool = False) -> list[Layer]:
    """The layers that are less than fully in force; a layer that nobody reported is one.

    Where `real_modules` were granted, a language layer that holds in part is what was asked for.
    """
    found = {layer.name: layer for layer in layers}
    missing = [
        Layer(name=name, enforcement=Enforcement.NOT, detail="not reported")
        for name in LAYERS
        if name not in found
    ]
    wanted = {"language": Enforcement.PARTIALLY} if real_modules else {}
    return [
        layer
        for layer in found.values()
        if layer.enforcement not in (Enforcement.FULLY, wanted.get(layer.name))
    ] + missing
