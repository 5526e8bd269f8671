"""What a zygote may be asked for when it is started: a closed set.

`--module=NAME` asks for a real module that a policy grants. All else is for tests alone.

Each layer is proved with others left out. One that is left out is reported as not in force, so the
host goes on only if isolation is best-effort. Two layers can never be left out: the process, as
without it there is nothing to hold, and identity, so that no attack ever has the rights of root.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from caps.protocol.enforcement import Enforcement, Layer


class Argument(enum.Enum):
    """All that a zygote understands beside modules; without any it leaves nothing out."""

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


def understand(arguments: Iterable[str]) -> frozenset[Argument]:
    """The arguments as values; the process ends if it does not know one."""
    known = {argument.value: argument for argument in Argument}
    asked = [argument for argument in arguments if not argument.startswith(_MODULE)]
    for argument in asked:
        if argument not in known:
            raise SystemExit(
                f"the zygote knows no `{argument}`; use {_MODULE}NAME, {', '.join(known)}"
            )
    return frozenset(known[argument] for argument in asked)


def asked_modules(arguments: Iterable[str]) -> tuple[str, ...]:
    """The real modules that are asked for."""
    return tuple(
        argument.removeprefix(_MODULE) for argument in arguments if argument.startswith(_MODULE)
    )


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
