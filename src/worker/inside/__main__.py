"""How the zygote starts: `python -I -m caps.worker.inside`, its control socket as descriptor 0."""

import gc
import sys

# msgspec would load typing_extensions if it is installed; it does without, and so do workers.
sys.modules["typing_extensions"] = None  # type: ignore[assignment]

# All of it stays, so to look through it for garbage again and again would only take time.
gc.disable()
from caps.worker.inside.zygote.server import main  # noqa: E402 - after the lines above

gc.enable()

if __name__ == "__main__":
    main()
