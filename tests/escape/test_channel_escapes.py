"""Workers that lie, hang or die: nothing reaches a provider, everything is in the audit.

Every file in `channel/` is one attack on the host, by a worker that is wholly in the attacker's
hands; `hostile_worker.py` runs it. It must end as its marks say:

- `# stopped: violation ...`, as a broken protocol of that kind; `limited ...`, by that limit;
  `lost`, as a worker that is gone; `failed`, as an error of the code, whatever it calls itself;
  `harmless`, with a result, and nothing gained;
- `# when: before_ready` or `before_start`, if it does not wait until the code has started;
- `# value: ...`, the result; `# printed: ...`, the output; `# started: ...`, whether the code ran;
- `# decisions: ...` and `# outcomes: ...`, what the audit log says of them, each with its reason;
- `# touched: ...`, which providers were reached; `probe.touch` never is;
- `# limits: ...`, what differs from the limits of the policy;
- `# cells: ...`, in a session: what the cell before it gave.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from caps import CapabilityRegistry, MemoryAuditLog, Runtime, SessionEnd, SessionEndedError
from caps.capabilities.runtime.result import ExecutionResult
from caps.providers.builtin import builtin_registry
from caps.security.audit import DecisionMade, ExecutionEnded, OutcomeRecorded, ProtocolViolated
from caps.worker.host.pool import pool
from caps.worker.host.zygote.source import ZygoteSource
from escape.attacks import HERE, Attack, attacks_on
from support.command_workers import CommandWorkerSource

pytestmark = pytest.mark.anyio

ATTACKS = {attack.name: attack for attack in attacks_on("channel")}
# How each word of the mark `stopped` shows as the status of an execution.
STATUSES = {
    "failed": "code_failed",
    "harmless": "ok",
    "limited": "limit",
    "lost": "worker_lost",
    "violation": "protocol_violation",
}
MARKS = {"decisions", "limits", "outcomes", "printed", "started", "stopped", "touched", "value"}
MOMENTS = ("before_ready", "before_start", "after_start")


class Scene:
    """A runtime whose workers are hostile, and what its providers saw."""

    def __init__(self, directory: Path) -> None:
        self.touched: list[str] = []
        self.workers = CommandWorkerSource(())
        self.audit = MemoryAuditLog()
        self.sandbox = directory / "sandbox"
        self.sandbox.mkdir()
        (directory / "secret.txt").write_text("secret")
        (self.sandbox / "notes.txt").write_text("notes")
        (self.sandbox / "large.txt").write_text("x" * 500_000)
        (self.sandbox / "link").symlink_to(directory)
        self.registry = self._registry()
        self.policy: dict[str, Any] = {
            "id": "hostile",
            "allow": ["files.read", "probe.allowed", "probe.stream"],
            "scopes": {"files": {"allowlist": [str(self.sandbox)]}},
            "limits": {"wall_ms": 20000, "calls": 20, "output_bytes": 65536},
        }

    def _registry(self) -> CapabilityRegistry:
        registry = builtin_registry()

        @registry.capability("probe.touch")
        async def touch() -> None:
            self.touched.append("touch")

        @registry.capability("probe.allowed")
        async def allowed() -> None:
            self.touched.append("allowed")

        @registry.capability("probe.stream")
        async def stream(size: int = 1, note: str = "") -> AsyncIterator[str]:
            self.touched.append("stream")
            while True:
                yield "x" * size

        return registry

    def choose(self, attack: Attack) -> None:
        """Make every worker perform this attack."""
        worker, when = HERE / "hostile_worker.py", attack.mark("when") or "after_start"
        self.workers.command = (sys.executable, "-I", str(worker), str(attack.path), when)

    async def run(self, attack: Attack) -> ExecutionResult:
        self.choose(attack)
        limits = {**self.policy["limits"], **json.loads(attack.mark("limits") or "{}")}
        policy = {**self.policy, "limits": limits}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pool, "_MIN_SPARES", 0)  # one worker is enough, and quicker than three
            async with Runtime(
                policy, registry=self.registry, audit=self.audit, workers=self.workers
            ) as runtime:
                return await runtime.run("f" * 32)

    def events(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.audit.events if isinstance(event, kind)]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


IN_ONE_RUN = [attack for attack in ATTACKS.values() if "cells" not in attack.marks]
IN_A_SESSION = [attack for attack in ATTACKS.values() if "cells" in attack.marks]


@pytest.mark.process
@pytest.mark.parametrize("attack", IN_ONE_RUN, ids=str)
async def test_the_attack_does_not_work(scene: Scene, attack: Attack) -> None:
    """The host ends it as marked, no provider is called without a grant, and all is recorded."""
    result = await scene.run(attack)
    word, _, reason = (attack.mark("stopped") or "").partition(" ")
    assert result.status.value == STATUSES[word], result.error or result.value
    assert [event.status for event in scene.events(ExecutionEnded)] == [result.status]
    violations = [event.violation for event in scene.events(ProtocolViolated)]
    assert violations == ([reason] if word == "violation" else [])
    if result.error is not None:
        assert result.error.details.get("limit") == (reason if word == "limited" else None)
        assert "exit status 1)" not in result.error.message, "the attack itself broke"
    assert "touch" not in scene.touched
    assert (scene.sandbox / "notes.txt").read_text() == "notes"
    assert_as_marked(attack, scene, result)


@pytest.mark.process
@pytest.mark.parametrize("attack", IN_A_SESSION, ids=str)
async def test_a_lie_in_a_later_cell_ends_the_session(scene: Scene, attack: Attack) -> None:
    """The first cell keeps its result, nothing reaches a provider, and there is no third."""
    scene.choose(attack)
    async with (
        Runtime(
            scene.policy, registry=scene.registry, audit=scene.audit, workers=scene.workers
        ) as runtime,
        runtime.session() as session,
    ):
        assert (await session.run("1")).value == attack.mark("cells")
        result = await session.run("2")
        assert result.status.value == "protocol_violation"
        assert session.ended is SessionEnd.PROTOCOL_VIOLATION
        with pytest.raises(SessionEndedError):
            await session.run("3")
    violations = [event.violation for event in scene.events(ProtocolViolated)]
    assert [f"violation {one}" for one in violations] == [attack.mark("stopped")]
    assert scene.touched == []


def assert_as_marked(attack: Attack, scene: Scene, result: ExecutionResult) -> None:
    """What the other marks say is what happened."""
    seen = {
        "decisions": [[event.decision, event.reason] for event in scene.events(DecisionMade)],
        "outcomes": [[event.status.value, event.reason] for event in scene.events(OutcomeRecorded)],
        "started": result.started,
        "touched": scene.touched,
        "value": result.value,
    }
    marked = {name: json.loads(attack.mark(name) or "") for name in seen.keys() & attack.marks}
    assert {name: seen[name] for name in marked} == marked
    assert result.stdout == (attack.mark("printed") or result.stdout)


def test_every_attack_says_what_it_tries_and_how_it_must_end() -> None:
    """There are many, each has a docstring, and each mark is a known one."""
    assert len(ATTACKS) >= 70
    for attack in ATTACKS.values():
        assert attack.tries, attack
        assert attack.marks <= MARKS | {"cells", "when"}, attack
        assert attack.mark("when") in (None, *MOMENTS), attack
        word, _, reason = (attack.mark("stopped") or "").partition(" ")
        assert word in STATUSES, attack
        assert (word in ("limited", "violation")) == bool(reason), attack


@pytest.mark.process
async def test_descriptors_that_a_worker_sends_are_dropped(scene: Scene) -> None:
    """The host asks for bytes alone, so that nobody can fill its table of descriptors."""
    scene.choose(ATTACKS["descriptors/passed"])
    held: list[int] = []
    async with Runtime(
        scene.policy, registry=scene.registry, audit=scene.audit, workers=scene.workers
    ) as runtime:
        for _ in range(3):
            assert (await runtime.run("1")).unwrap() == "passed"
            held.append(len(list(Path("/proc/self/fd").iterdir())))
    # One execution passes thousands; spares that come and go hold a few each.
    assert max(held) - min(held) < 200


class FirstHostile:
    """A source whose first workers lie; later ones are real."""

    def __init__(self, hostile: CommandWorkerSource, real: ZygoteSource, lies: int) -> None:
        self._hostile, self._real, self._left = hostile, real, lies
        self.layers = hostile.layers
        self.open = real.open
        self.with_modules = real.with_modules

    async def start(self) -> Any:
        self._left -= 1
        return await (self._hostile if self._left >= 0 else self._real).start()


@pytest.mark.process
async def test_the_host_goes_on_after_every_attack(scene: Scene) -> None:
    """One runtime serves an honest execution after hostile ones."""
    scene.choose(ATTACKS["garbage/frame"])
    workers = FirstHostile(scene.workers, ZygoteSource(), 2)
    async with Runtime(
        scene.policy, registry=scene.registry, audit=scene.audit, workers=workers
    ) as runtime:
        while not (result := await runtime.run("1 + 1")).ok:
            assert result.status.value == "protocol_violation"
        assert result.value == 2
