"""Functions without a valid tool card: refused to code, also to code within code."""

from __future__ import annotations

from pathlib import Path

from caps import Runtime, builtin_registry

POLICY = {"allow": ["math.add", "sandbox.execute_code"]}
INNER = "await caps.math.add(a=1, b=2)"
OUTER = f"""
try:
    {INNER}
except caps.PolicyDeniedError as error:
    first = error.reason
nested = await caps.sandbox.execute_code({INNER!r})
[first, nested]
"""


def test_nested_code_is_refused_as_well(tmp_path: Path) -> None:
    """It runs under the grant of the code that starts it."""
    registry = builtin_registry(plugins="off")
    registry.refuse_uncarded(["math.add"])
    with Runtime(POLICY, registry=registry, audit=tmp_path / "audit") as runtime:
        result = runtime.run_sync(OUTER)
    assert result.ok, result.error
    first, nested = result.value
    assert first == "tool_card_invalid"
    assert "no valid tool card" in str(nested)
