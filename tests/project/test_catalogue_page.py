"""The catalogue of the built-in capabilities is complete, and its examples do what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from caps import MemoryAuditLog, ResolverContext, Runtime, builtin_registry
from support.catalogue_examples import CatalogueExample, catalogue_examples

EXAMPLES = catalogue_examples()


def test_every_capability_has_an_example() -> None:
    """And there is none for what does not exist."""
    known = [each.key for each in builtin_registry(plugins="off").known_capabilities()]
    assert [each.key for each in EXAMPLES] == known


@pytest.mark.process
@pytest.mark.anyio
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.key)
async def test_an_example_prints_what_the_page_shows(
    example: CatalogueExample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a confined worker, under the policy that the agent's object amounts to."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "reports").mkdir()
    registry = builtin_registry(plugins="off")
    resolved = registry.resolve(example.agent, ResolverContext(workspace_dir=str(tmp_path)))
    async with Runtime(resolved.policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        result = await runtime.run(example.code, session="example")
    assert result.error is None
    assert result.stdout.strip() == example.output.strip()
