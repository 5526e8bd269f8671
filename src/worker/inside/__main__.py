"""How a worker starts: `python -I -m caps.worker.inside`, its channel as descriptor 0."""

import sys

# msgspec would load typing_extensions if it is installed, and that loads `_socket`: code that can
# open sockets has no place beside untrusted code. msgspec does without.
for unwanted in ("_socket", "typing_extensions"):
    sys.modules[unwanted] = None  # type: ignore[assignment]

from caps.worker.inside.main import main  # noqa: E402 - after the lines above

if __name__ == "__main__":
    main()
