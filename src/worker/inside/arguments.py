"""What a zygote may be asked for when it is started: a closed set, for tests alone.

Each layer is proved with others left out. One that is left out is reported as not in force, so the
host goes on only if isolation is best-effort. Two layers can never be left out: the process, as
without it there is nothing to hold, and identity, so that no attack ever has the rights of root.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from caps.protocol.enforcement import Enforcement, Layer


class Argument(enum.Enum):
    """All that a zygote understands; without any it leaves nothing out."""

    WITH_TOOLS = "--with-tools"
    WITHOUT_LANGUAGE = "--without-language"
    WITHOUT_NAMESPACES = "--without-namespaces"
    WITHOUT_ROOT = "--without-root"
    WITHOUT_PRIVILEGES = "--without-privileges"
    WITHOUT_LANDLOCK = "--without-landlock"
    WITHOUT_SECCOMP = "--without-seccomp"
    WITHOUT_RLIMITS = "--without-rlimits"


_WITHOUT = "--without-"


def understand(arguments: Iterable[str]) -> frozenset[Argument]:
    """The arguments as values; the process ends if it does not know one."""
    known = {argument.value: argument for argument in Argument}
    asked = list(arguments)
    for argument in asked:
        if argument not in known:
            raise SystemExit(f"the zygote knows no `{argument}`; use {', '.join(known)}")
    return frozenset(known[argument] for argument in asked)


def left_out(asked: frozenset[Argument]) -> dict[str, Layer]:
    """The layers that are not to be applied, each as it is to be reported."""
    names = {argument.value.removeprefix(_WITHOUT): argument.value for argument in asked}
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
