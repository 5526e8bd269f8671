"""The directories of attacks hold data, not tests; kernel attacks share the targets of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.escape_targets import EscapeTargets, escape_targets

collect_ignore = ["channel", "kernel", "language"]


@pytest.fixture(scope="module")
def host() -> Iterator[EscapeTargets]:
    """The targets on the host; a test resets them before its attack.

    Not for the whole session: other tests check that this process has no children left.
    """
    with escape_targets() as targets:
        yield targets
