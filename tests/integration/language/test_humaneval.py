"""HumanEval's canonical solutions with their tests run unchanged in the locked-down worker."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from caps import Runtime
from caps.security.audit.log.memory import MemoryAuditLog

pytestmark = pytest.mark.anyio

CORPUS = Path(__file__).parents[4] / "shared" / "corpora" / "HumanEval.jsonl"
AT_ONCE = 4


def programs() -> dict[str, str]:
    """Prompt, solution, test and the call of it as one program each; skips if there are none."""
    if not CORPUS.exists():
        reason = "the HumanEval corpus is not beside the project (../shared/corpora)"
        if os.environ.get("CAPS_FORBID_SKIPS"):
            pytest.fail(reason)
        pytest.skip(reason)
    problems = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    return {
        one["task_id"]: (
            f"{one['prompt']}{one['canonical_solution']}\n{one['test']}\ncheck({one['entry_point']})"
        )
        for one in problems
    }


@pytest.fixture
async def runtime() -> AsyncIterator[Runtime]:
    """Grants nothing: these programs need no power."""
    async with Runtime(policy={"allow": []}, audit=MemoryAuditLog()) as runtime:
        yield runtime


async def test_every_canonical_solution_passes_its_tests(runtime: Runtime) -> None:
    """164 of 164, each in its own worker."""
    failed: dict[str, str] = {}
    limiter = anyio.CapacityLimiter(AT_ONCE)

    async def judge(name: str, source: str) -> None:
        async with limiter:
            result = await runtime.run(source)
        if result.error is not None:
            failed[name] = f"{result.error.type}: {result.error.message}"

    sources = programs()
    async with anyio.create_task_group() as tasks:
        for name, source in sources.items():
            tasks.start_soon(judge, name, source)
    assert (len(sources), failed) == (164, {})
