"""The examples of capabilities in the documents do what the text says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from caps import CapabilityRegistry, ResolverContext
from support.capability_examples import example_registry

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "capabilities.md"


def blocks(document: Path, heading: str, language: str = "python") -> list[str]:
    """The blocks of code below a heading."""
    section = document.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


@pytest.mark.process
def test_the_example_of_the_readme_reads_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a workspace of the test's own; it has about ten lines."""
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "q3.txt").write_text("good")
    monkeypatch.setenv("CAPS_AUDIT_PATH", str(tmp_path / "audit"))
    (source,) = blocks(ROOT / "README.md", "What an agent is given")
    assert len(source.splitlines()) <= 10
    exec(source.replace('"/data"', repr(str(tmp_path))), {})
    assert capsys.readouterr().out == "['get_current_time', 'read_file']\ngood\n"


def test_the_three_ways_to_write_a_capability_work() -> None:
    """Each is registered, and resolves as the page says."""
    names: dict[str, Any] = {}
    (source,) = blocks(PAGE, "Writing a capability")
    exec(source, names)
    registry: CapabilityRegistry = names["registry"]
    assert [each.key for each in registry.known_capabilities()] == ["audio", "noop", "voice"]
    audio = registry.resolve({"audio": {"language": "de"}, "noop": {}, "voice": {"tools": []}})
    assert audio.mcp_servers["audio"]["args"] == ["de", "transcribe"]
    assert audio.skipped == ("voice",)
    ctx = ResolverContext(agent={"mic": True})
    assert registry.resolve(["voice"], ctx).mcp_servers == {"voice": {"command": "voice-mcp"}}


def test_the_object_of_the_page_is_one() -> None:
    """As JSON."""
    (agent,) = blocks(PAGE, "An agent's object", "json")
    resolved = example_registry().resolve(json.loads(agent))
    assert list(resolved.versions) == ["memory", "audio", "files"]
