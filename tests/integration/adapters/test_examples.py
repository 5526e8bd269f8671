"""The examples of agents and frameworks run as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
SAID = {
    "agent_run.py": 'here: {"result":42}\nand twice that, result:\n84\n',
    "frameworks/fastmcp_code_mode.py": "700\n",
    "frameworks/langchain_tools.py": '{"result":3}\nresult:\n42\n',
    "frameworks/openai_agents_tools.py": "result:\n42\n",
    "frameworks/pydantic_ai_agent.py": "result:\n42\nresult:\n[0, 2, 4]\n",
    "frameworks/smolagents_code_agent.py": "700\n",
}


def test_every_example_of_a_framework_is_run() -> None:
    """A new file needs a line above."""
    found = {f"frameworks/{each.name}" for each in (EXAMPLES / "frameworks").glob("*.py")}
    assert found | {"agent_run.py"} == set(SAID)


@pytest.mark.parametrize("name", sorted(SAID))
def test_an_example_runs(name: str) -> None:
    """With a scripted model, and the output that it should have."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, SAID[name]), done.stderr
