"""The command line arguments of a zygote: a closed set.

`--module=NAME` requests a real module that a policy grants. All others are only for tests.

Tests prove each layer with other layers left out. A layer that is left out is reported as not
enforced, so the host continues only if isolation is best-effort. Two layers can never be left out:
the process, because without it there is nothing to confine, and identity, so that no attack in a
test ever has the rights of root.

This module imports little: the zygote reads its arguments before it loads anything else.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from caps.protocol.enforcement import Layer


class Argument(enum.Enum):
    """All arguments other than modules; without any, no layer is left out."""

    WITH_TOOLS = "--with-tools"
    WITHOUT_LANGUAGE = "--without-language"
    WITHOUT_NAMESPACES = "--without-namespaces"
    WITHOUT_ROOT = "--without-root"
    WITHOUT_PRIVILEGES = "--without-privileges"
    WITHOUT_LANDLOCK = "--without-landlock"
    WITHOUT_SECCOMP = "--without-seccomp"
    WITHOUT_RLIMITS = "--without-rlimits"


_WITHOUT = "--without-"
_MODULE = "--module="


def parse_arguments(arguments: Iterable[str]) -> frozenset[Argument]:
    """The arguments as values. Raises SystemExit for an unknown one."""
    known = {argument.value: argument for argument in Argument}
    requested = [argument for argument in arguments if not argument.startswith(_MODULE)]
    for argument in requested:
        if argument not in known:
            raise SystemExit(
                f"the zygote knows no `{argument}`; use {_MODULE}NAME, {', '.join(known)}"
            )
    return frozenset(known[argument] for argument in requested)


def requested_modules(arguments: Iterable[str]) -> tuple[str, ...]:
    """The real modules that are requested."""
    return tuple(
        argument.removeprefix(_MODULE) for argument in arguments if argument.startswith(_MODULE)
    )


def disabled_layers(requested: frozenset[Argument]) -> dict[str, Layer]:
    """The layers that are not to be applied, each as it will be reported."""
    from caps.protocol.enforcement import Enforcement, Layer  # which loads msgspec

    names = {argument.value.removeprefix(_WITHOUT): argument.value for argument in requested}
    return {
        name: Layer(
            name=name,
            enforcement=Enforcement.NOT,
            detail="left out, as asked",
            remedy=f"start the zygote without {argument}",
        )
        for name, argument in names.items()
        if argument.startswith(_WITHOUT)
    }
