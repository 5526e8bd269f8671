"""What the `files` scope proposes for calls that were seen."""

from __future__ import annotations

from typing import Any

import pytest

from caps.providers.files.scope import FilesScope
from caps.security.review.scope_answers import ObservedArguments


@pytest.mark.parametrize(
    ("function", "shown", "allowlist"),
    [
        ("list", {}, ["."]),
        ("glob", {"pattern": "*.txt"}, ["."]),
        ("grep", {"pattern": "x"}, ["."]),
        ("copy", {"path": "/a/x", "to": "/b/y"}, ["/a", "/b"]),
        ("move", {"path": "x", "to": "/b/y"}, ["./sandbox", "/b"]),
        ("move", {"path": "x", "to": "y"}, ["./sandbox"]),
    ],
)
def test_every_path_of_a_call_is_covered(
    function: str, shown: dict[str, Any], allowlist: list[str]
) -> None:
    """Also one that is left out, and the second of two."""
    proposal = FilesScope.covering([ObservedArguments(function, shown)], None)
    assert proposal is not None
    assert proposal.scope["allowlist"] == allowlist
    assert proposal.parts[0].calls == (0,)
