"""Whether the layers that hold the code are enough; less than all needs the operator's word.

`CAPS_ISOLATION=best-effort` is that word. Every audit record of an execution then names the layers
that were not fully in force. Real modules that the policy grants need no other word: the language
layer then holds in part, and the record of the start says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from caps.protocol.enforcement import Layer, gaps
from caps.protocol.errors import ConfigurationError, IsolationError
from caps.security.policies.names import quoted

ISOLATION_VARIABLE = "CAPS_ISOLATION"
_FULL, _BEST_EFFORT = "full", "best-effort"


def isolation_wanted(given: str | None) -> str:
    """`given`, or what the variable says; a ConfigurationError if it is neither of the two."""
    wanted = given or os.environ.get(ISOLATION_VARIABLE) or _FULL
    if wanted not in (_FULL, _BEST_EFFORT):
        raise ConfigurationError(
            f"{ISOLATION_VARIABLE} is {quoted(wanted)}; set `{_FULL}` or `{_BEST_EFFORT}`"
        )
    return wanted


def judge_isolation(
    layers: Iterable[Layer], wanted: str, modules: Sequence[str] = ()
) -> str | IsolationError | None:
    """None if every layer holds fully; else what is missing, or the error if that is too little.

    `modules` are the real ones that the policy grants.
    """
    missing = gaps(layers, real_modules=bool(modules))
    if not missing:
        return None
    summary = ", ".join(f"{layer.name} {layer.enforcement.value}" for layer in missing)
    if wanted == _BEST_EFFORT:
        return summary
    return IsolationError(
        f"isolation is not full ({summary}); `caps doctor` says what to do, and "
        f"{ISOLATION_VARIABLE}={_BEST_EFFORT} runs all the same",
        missing=[layer.name for layer in missing],
    )


class Judged(msgspec.Struct, frozen=True):
    """Layers, and what comes of them for an execution."""

    layers: tuple[Layer, ...]
    modules: tuple[str, ...]
    verdict: str | IsolationError | None
    """As `judge_isolation` gives it."""
    enforced: Mapping[str, str]
    """How much of each is in force, as the record of a start says it."""


class IsolationJudge:
    """`judge_isolation` for every execution of a runtime.

    Whoever reports layers reports the same tuple until one of them changes, so that what was judged
    last need not be judged again.
    """

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self._last = self._judged((), ())

    def judge(self, layers: tuple[Layer, ...], modules: tuple[str, ...]) -> Judged:
        last = self._last
        known = last.layers is layers and last.modules == modules
        # An error is made anew for each who raises it: it keeps where it was raised.
        if not known or isinstance(last.verdict, IsolationError):
            last = self._last = self._judged(layers, modules)
        return last

    def _judged(self, layers: tuple[Layer, ...], modules: tuple[str, ...]) -> Judged:
        enforced = {layer.name: layer.enforcement.value for layer in layers}
        return Judged(layers, modules, judge_isolation(layers, self._wanted, modules), enforced)
