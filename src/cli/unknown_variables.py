"""A warning for each variable that looks like one of Caps and is not: it was probably misspelt.

Otherwise a user who set `CAPS_AUDIT_DURABLITY=os` would never learn that it does nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

import click

from caps.protocol.environment import PREFIX, Variable
from caps.protocol.text import did_you_mean, printable

_KNOWN: Final = frozenset(variable.key for variable in Variable)
# The tests of Caps read it, and run commands in an environment that has it.
_OF_THE_TESTS: Final = "CAPS_FORBID_SKIPS"
# Secrets have names of the operator's; `capabilities.secrets.sources` reads them.
_SECRETS: Final = re.compile(r"CAPS_SECRET_[A-Z][A-Z0-9_]{0,63}")
_MAX_SHOWN: Final = 120


def warn_unknown_variables(environment: Mapping[str, str] | None = None) -> None:
    """Warn of each variable that begins with the prefix and is not in the table."""
    for name in sorted(os.environ if environment is None else environment):
        if not name.startswith(PREFIX) or name in _KNOWN or _SECRETS.fullmatch(name):
            continue
        if name != _OF_THE_TESTS:
            shown, hint = printable(name, _MAX_SHOWN), did_you_mean(name, _KNOWN)
            click.echo(f"caps: warning: nothing reads `{shown}`{hint}", err=True)
