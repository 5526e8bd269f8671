"""The variables that caps reads: one that nothing reads is told, as it was most likely misspelt.

Whoever wrote `CAPS_AUDIT_DURABLITY=os` would otherwise never learn that it does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import click

_PREFIX: Final = "CAPS_"
VARIABLES: Final = frozenset(
    _PREFIX + name
    for name in (
        "APPROVALS_PATH AUDIT_CHECKPOINTS_TO AUDIT_CHECKPOINT_EVERY AUDIT_CHECKPOINT_SECONDS "
        "AUDIT_COMPRESS AUDIT_DURABILITY AUDIT_PATH AUDIT_ROTATE_BYTES AUDIT_ROTATE_SECONDS "
        "AUDIT_SINKS CAPABILITY_DEFAULT_TIMEOUT_MS CGROUP ISOLATION POLICY_PATH REGISTRY"
    ).split()
)
# It is for the tests of caps, which run commands where it is set.
_OF_THE_TESTS: Final = "CAPS_FORBID_SKIPS"


def tell_unread(environment: Mapping[str, str] | None = None) -> None:
    """Warn of each variable that begins as ours do and is none of them."""
    for name in sorted(os.environ if environment is None else environment):
        if name.startswith(_PREFIX) and name not in VARIABLES and name != _OF_THE_TESTS:
            from caps.security.policies.names import nearest, one_line

            meant = nearest(name, VARIABLES)
            hint = f"; did you mean `{meant}`?" if meant else ""
            click.echo(f"caps: warning: nothing reads `{one_line(name)}`{hint}", err=True)
