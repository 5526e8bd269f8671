"""A registry whose functions print, and fail with places of the host in the message."""

from __future__ import annotations

import os
import subprocess

from caps import CapabilityRegistry

registry = CapabilityRegistry()


@registry.capability("noise.make")
def make() -> str:
    """Write to standard output in three ways."""
    print("printed by the provider", flush=True)  # noqa: T201 - it is what it is for
    os.write(1, b"written to descriptor 1\n")
    subprocess.run(["/bin/echo", "printed by a child"], check=True)
    return "done"


@registry.capability("noise.fail")
def fail() -> str:
    """Fail in a way that nobody expects."""
    raise RuntimeError("cannot open /secret/place")
