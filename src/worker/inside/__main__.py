"""Starts the zygote: `python -I -m caps.worker.inside`, with its control socket as descriptor 0."""

import gc
import sys

# msgspec loads typing_extensions if it is installed, but does not need it; nor do workers.
sys.modules["typing_extensions"] = None  # type: ignore[assignment]

# All that is imported stays, so garbage collections meanwhile would only take time.
gc.disable()
if __name__ == "__main__":
    from caps.worker.inside.zygote.first_steps import take_first_steps

    first_steps = take_first_steps()

import caps.worker.inside.zygote.fork_hooks  # noqa: E402, F401 - imports `random` before others do
from caps.worker.inside.zygote.server import main  # noqa: E402 - after the lines above

gc.enable()

if __name__ == "__main__":
    main(first_steps)
