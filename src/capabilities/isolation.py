"""Whether the layers that hold the code are enough; less than all needs the operator's word.

`CAPS_ISOLATION=best-effort` is that word. Every audit record of an execution then names the layers
that were not fully in force. Real modules that the policy grants need no other word: the language
layer then holds in part, and the record of the start says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from caps.protocol.enforcement import Layer, gaps
from caps.protocol.errors import ConfigurationError, IsolationError

ISOLATION_VARIABLE = "CAPS_ISOLATION"
_FULL, _BEST_EFFORT = "full", "best-effort"


def isolation_wanted(given: str | None) -> str:
    """`given`, or what the variable says; a ConfigurationError if it is neither of the two."""
    wanted = given or os.environ.get(ISOLATION_VARIABLE) or _FULL
    if wanted not in (_FULL, _BEST_EFFORT):
        raise ConfigurationError(
            f"{ISOLATION_VARIABLE} is `{wanted}`; set `{_FULL}` or `{_BEST_EFFORT}`"
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
