"""The variables of the audit log: one that nothing reads is told, as it was most likely misspelt.

Whoever wrote `CAPS_AUDIT_DURABLITY=os` would otherwise never learn that it does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import click

_PREFIX: Final = "CAPS_AUDIT_"
AUDIT_VARIABLES: Final = frozenset(
    _PREFIX + name
    for name in (
        "CHECKPOINTS_TO CHECKPOINT_EVERY CHECKPOINT_SECONDS COMPRESS DURABILITY PATH ROTATE_BYTES "
        "ROTATE_SECONDS SINKS"
    ).split()
)


def tell_unread(environment: Mapping[str, str] | None = None) -> None:
    """Warn of each variable that begins as those of the log and is none of them."""
    for name in sorted(os.environ if environment is None else environment):
        if name.startswith(_PREFIX) and name not in AUDIT_VARIABLES:
            from caps.security.patterns import nearest, one_line

            meant = nearest(name, AUDIT_VARIABLES)
            hint = f"; did you mean `{meant}`?" if meant else ""
            click.echo(f"caps: warning: nothing reads `{one_line(name)}`{hint}", err=True)
