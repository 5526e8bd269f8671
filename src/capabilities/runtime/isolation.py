"""Whether enough isolation layers are in force; fewer than all need the operator's consent.

`CAPS_ISOLATION=best-effort` is that consent. Every audit record of an execution then names the
layers that were not fully in force. Real modules granted by the policy need no further consent: the
language layer is then in force in part, and the record of the start says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from caps.protocol.enforcement import Layer, missing_layers
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError, IsolationError
from caps.security.policies.names import quoted

_FULL, _BEST_EFFORT = "full", "best-effort"


def isolation_mode(given: str | None) -> str:
    """`given`, or the value of the variable. ConfigurationError if it is not a valid mode."""
    mode = given or Variable.ISOLATION.read() or _FULL
    if mode not in (_FULL, _BEST_EFFORT):
        raise ConfigurationError(
            f"{Variable.ISOLATION.key} is {quoted(mode)}; set `{_FULL}` or `{_BEST_EFFORT}`"
        )
    return mode


def check_isolation(
    layers: Iterable[Layer], mode: str, modules: Sequence[str] = ()
) -> str | IsolationError | None:
    """None if every layer is fully in force; else the missing ones, or the error in mode `full`.

    `modules` are the real modules that the policy grants.
    """
    missing = missing_layers(layers, real_modules=bool(modules))
    if not missing:
        return None
    summary = ", ".join(f"{layer.name} {layer.enforcement.value}" for layer in missing)
    if mode == _BEST_EFFORT:
        return summary
    return IsolationError(
        f"isolation is not full ({summary}); `caps doctor` says what to do, and "
        f"{Variable.ISOLATION.key}={_BEST_EFFORT} runs anyway",
        missing=[layer.name for layer in missing],
    )


class IsolationCheck(msgspec.Struct, frozen=True):
    """Layers, and the result of the check for an execution."""

    layers: tuple[Layer, ...]
    modules: tuple[str, ...]
    verdict: str | IsolationError | None
    """The result of `check_isolation`."""
    recorded: tuple[tuple[str, str], ...]
    """How much of each layer is in force, for the record of a start."""


class CachedIsolationCheck:
    """`check_isolation` for every execution of a runtime.

    A pool reports the same tuple of layers until one of them changes, so that the last result can
    be used again.
    """

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._last = self._new_check((), ())

    def check(self, layers: tuple[Layer, ...], modules: tuple[str, ...]) -> IsolationCheck:
        last = self._last
        known = last.layers is layers and last.modules == modules
        # A new error each time: an exception keeps the traceback of where it was raised.
        if not known or isinstance(last.verdict, IsolationError):
            last = self._last = self._new_check(layers, modules)
        return last

    def _new_check(self, layers: tuple[Layer, ...], modules: tuple[str, ...]) -> IsolationCheck:
        verdict = check_isolation(layers, self._mode, modules)
        recorded = tuple((layer.name, layer.enforcement.value) for layer in layers)
        return IsolationCheck(layers, modules, verdict, recorded)
