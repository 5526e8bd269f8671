"""`show` of a real matplotlib, on real workers: figures are handed out like any artifact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from caps import MemoryAuditLog, Runtime, builtin_registry

PNG = b"\x89PNG\r\n"
POLICY: dict[str, Any] = {
    "id": "drawer",
    "allow": ["artifacts.save", "time.now"],
    "modules": ["matplotlib"],
    "limits": {"memory_mb": 1024},
}
DRAW = """
import matplotlib.pyplot as plt
for _ in range(2):
    plt.figure()
    plt.plot([1, 3, 2])
    plt.title("growth")
"""


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    with Runtime(POLICY, registry=builtin_registry(), audit=MemoryAuditLog()) as runtime:
        yield runtime


@pytest.mark.parametrize("around", ["{}", "await caps.time.now()\n{}", "def f():\n    {}\nf()"])
def test_each_open_figure_is_handed_out_and_closed(runtime: Runtime, around: str) -> None:
    """In programs that await and in those that do not, and in functions."""
    result = runtime.run_sync(f"{DRAW}\n{around.format('plt.show()')}\nplt.get_fignums()")
    assert (result.error, result.value) == (None, [])
    assert [(one.name, one.media_type) for one in result.artifacts] == [
        ("figure-1.png", "image/png"),
        ("figure-2.png", "image/png"),
    ]
    assert all(one.content.startswith(PNG) and one.size > 1000 for one in result.artifacts)
    assert [decision.capability for decision in result.decisions[-2:]] == ["artifacts.save"] * 2


def test_a_figure_shows_itself(runtime: Runtime) -> None:
    """The others stay open."""
    result = runtime.run_sync(f"{DRAW}\nplt.figure(1).show()\nplt.get_fignums()")
    assert (result.error, result.value, len(result.artifacts)) == (None, [2], 1)


@pytest.mark.parametrize("show", ["plt.show()", "plt.gcf().show()"])
def test_without_the_grant_it_says_what_is_missing(runtime: Runtime, show: str) -> None:
    """The error of a capability that is missing, at the line of the code."""
    policy = {**POLICY, "id": "mute", "allow": []}
    result = runtime.run_sync(f"{DRAW}\n{show}", policy=policy)
    assert result.error is not None
    assert result.error.type == "CapabilityMissingError"
    assert "`show` hands out figures with `artifacts.save`, which is not granted" in (
        result.error.message
    )
    assert (result.error.source_line, result.artifacts) == (show, ())


def test_a_limit_is_an_error_of_show(runtime: Runtime) -> None:
    """And the figures before it were handed out."""
    policy = {**POLICY, "limits": {"memory_mb": 1024, "artifacts": 1}}
    result = runtime.run_sync(f"{DRAW}\nplt.show()", policy=policy)
    assert result.error is not None
    assert result.error.type == "LimitExceededError"
    assert len(result.artifacts) == 1


def test_the_numbers_go_on_in_a_session(runtime: Runtime) -> None:
    """So that no two pictures of a conversation have one name."""
    with runtime.session_sync() as session:
        names = [
            [one.name for one in session.run(f"{DRAW}\nplt.show()").artifacts] for _ in range(2)
        ]
    assert names == [["figure-1.png", "figure-2.png"], ["figure-3.png", "figure-4.png"]]
