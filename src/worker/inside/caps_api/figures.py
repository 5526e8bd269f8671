"""(4) `plt.show()` of a granted matplotlib: each open figure is handed out as a picture.

There is no screen. A figure leaves as every artifact does, by a call of `artifacts.save`: without
that grant, `plt.show()` raises the error of a capability that is missing. Nobody awaits `show`, so
it runs the loop until the call is answered, as `asyncio.run` does inside a task.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from caps.protocol.errors import CapabilityMissingError
from caps.worker.inside.aio.loop import Loop
from caps.worker.inside.caps_api.namespace import Capability, Namespace

_PYPLOT = "matplotlib.pyplot"


def connect_figures(real: Mapping[str, ModuleType], caps: Namespace, loop: Loop) -> None:
    """Have the `show` of figures use `caps`, if matplotlib is among the `real` modules."""
    if _PYPLOT not in real:
        return
    pyplot: Any = real[_PYPLOT]
    numbers = itertools.count(1)

    def hand_out(figure_number: int) -> None:
        save = _save_of(caps)
        picture = io.BytesIO()
        figure = pyplot.figure(figure_number)
        figure.savefig(picture, format="png")
        name = f"figure-{next(numbers)}.png"
        call = save(name=name, content=picture.getvalue(), media_type="image/png")
        loop.run(loop.task(call))
        pyplot.close(figure)

    def show(*_args: Any, **_options: Any) -> None:
        """Hand out each open figure as a picture, and close it."""
        for number in pyplot.get_fignums():
            hand_out(number)

    def show_one(manager: Any) -> None:
        hand_out(manager.num)

    pyplot.show = show
    bases: Any = real["matplotlib.backend_bases"]
    bases.FigureManagerBase.show = show_one  # for `figure.show()`
    pylab: Any = real.get("matplotlib.pylab")  # it has copies of the names of `pyplot`
    if pylab is not None:
        pylab.show = show


def _save_of(caps: Namespace) -> Capability:
    try:
        found: Capability = caps.artifacts.save
    except CapabilityMissingError as missing:
        details = missing.details
        raise CapabilityMissingError(
            "`show` hands out figures with `artifacts.save`, which is not granted by policy "
            f"`{details['policy_id']}`",
            **{**details, "capability": "artifacts.save"},
        ) from None
    return found
