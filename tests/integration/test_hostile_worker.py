"""Workers that lie, hang or die: nothing reaches a provider, everything is in the audit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from caps import CapabilityRegistry, MemoryAuditLog, Runtime, SessionEnd, SessionEndedError
from caps.capabilities.result import ExecutionResult
from caps.providers.builtin import builtin_registry
from caps.security.audit import DecisionMade, ExecutionEnded, OutcomeRecorded, ProtocolViolated
from caps.worker.host.zygote import ZygoteSource
from direct_workers import DirectWorkers

pytestmark = pytest.mark.anyio

HOSTILE_WORKER = Path(__file__).parent.parent / "hostile_worker.py"


class Scene:
    """A runtime whose workers are hostile, and what its providers saw."""

    def __init__(self, directory: Path) -> None:
        self.touched: list[str] = []
        self.workers = DirectWorkers(())
        self.audit = MemoryAuditLog()
        self.sandbox = directory / "sandbox"
        self.sandbox.mkdir()
        (directory / "secret.txt").write_text("secret")
        (self.sandbox / "notes.txt").write_text("notes")
        (self.sandbox / "link").symlink_to(directory)
        self.registry = self._registry()
        self.policy: dict[str, Any] = {
            "id": "hostile",
            "allow": ["files.read", "probe.allowed"],
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

        return registry

    async def run(self, source: str = "1", **limits: int) -> ExecutionResult:
        policy = {**self.policy, "limits": {**self.policy["limits"], **limits}}
        async with Runtime(
            policy, registry=self.registry, audit=self.audit, workers=self.workers
        ) as runtime:
            return await runtime.run(source)

    def events(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.audit.events if isinstance(event, kind)]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.fixture
def attack(scene: Scene) -> Callable[[str], None]:
    """Make every worker perform the named attack."""

    def choose(name: str) -> None:
        scene.workers.command = (sys.executable, "-I", str(HOSTILE_WORKER), name)

    return choose


@pytest.mark.parametrize(
    ("name", "reason"),
    [("not_granted", "not_allowed"), ("unknown_capability", "unknown_capability")],
)
async def test_a_forged_request_for_what_is_not_granted_is_denied(
    scene: Scene, attack: Callable[[str], None], name: str, reason: str
) -> None:
    """A capability outside the grant reaches no provider, and the denial is recorded."""
    attack(name)
    result = await scene.run()
    assert result.value == ["policy_denied"]
    assert [(d.decision, d.reason) for d in scene.events(DecisionMade)] == [("deny", reason)]
    assert (scene.sandbox / "notes.txt").exists()


async def test_a_forged_path_out_of_the_scope_is_denied(
    scene: Scene, attack: Callable[[str], None]
) -> None:
    """Neither `..`, nor an absolute path, nor a symbolic link leads out of the allowlist."""
    attack("scope_escape")
    result = await scene.run()
    assert result.value == ["policy_denied"] * 4
    decisions = [d.decision for d in scene.events(DecisionMade)]
    assert decisions == ["deny", "deny", "allow", "deny"]
    # Where a link leads, only the moment of use can tell: the provider refused, and it is recorded.
    (outcome,) = scene.events(OutcomeRecorded)
    assert (outcome.status.value, outcome.reason) == ("denied", "scope_violation")


async def test_a_forged_payload_is_refused_by_the_hosts_own_schema(
    scene: Scene, attack: Callable[[str], None]
) -> None:
    """The wrapper's check is a courtesy; the broker's is the one that counts."""
    attack("bad_payload")
    result = await scene.run()
    assert result.value == ["validation_error"]
    assert [d.reason for d in scene.events(DecisionMade)] == ["payload_invalid"]


async def test_a_message_that_names_two_capabilities_gains_none(
    scene: Scene, attack: Callable[[str], None]
) -> None:
    """What is decided on is what is called: a repeated field cannot tell them apart."""
    attack("named_twice")
    await scene.run()
    assert "touch" not in scene.touched


VIOLATIONS = {
    "foreign_id": "forged_id",
    "skipped_id": "forged_id",
    "reordered_frames": "forged_id",
    "replayed_request_id": "replayed_request",
    "replayed_frame": "forged_id",
    "forged_answer": "malformed",
    "forged_manifest": "malformed",
    "forged_cancel": "malformed",
    "garbage_before_ready": "frame_too_large",
    "started_before_ready": "out_of_turn",
    "ready_twice": "out_of_turn",
    "other_version": "version",
    "request_before_start": "out_of_turn",
    "result_without_start": "contradiction",
    "out_of_turn": "out_of_turn",
    "ready_again": "out_of_turn",
    "result_that_never_ran": "contradiction",
    "request_after_result": "out_of_turn",
    "request_before_a_lie": "garbage",
    "two_results": "out_of_turn",
    "oversized_frame": "frame_too_large",
    "just_oversized_frame": "frame_too_large",
    "half_a_frame": "truncated_frame",
    "half_a_length": "truncated_frame",
    "interleaved_frames": "frame_too_large",
    "empty_frame": "garbage",
    "frame_with_a_tail": "garbage",
    "frame_that_ends_early": "garbage",
    "garbage": "garbage",
    "pickled": "malformed",
    "result_of_garbage": "garbage",
    "unknown_type": "malformed",
    "no_type": "malformed",
    "unknown_field": "malformed",
    "field_of_a_wrong_type": "malformed",
    "endless_name": "malformed",
    "endless_request_id": "malformed",
    "timestamp_that_is_no_number": "malformed",
    "timeout_without_end": "malformed",
    "name_that_is_no_text": "garbage",
    "payload_with_bytes": "not_json_like",
    "payload_with_infinity": "not_json_like",
    "payload_with_extension": "not_json_like",
    "payload_with_other_keys": "not_json_like",
    "payload_of_many_items": "too_many_items",
    "payload_that_claims_many_items": "garbage",
    "deep_payload": "too_deep",
    "bottomless_payload": "garbage",
    "flood": "flood",
}


@pytest.mark.parametrize(("name", "violation"), VIOLATIONS.items())
async def test_a_broken_protocol_ends_the_execution_and_is_recorded(
    scene: Scene, attack: Callable[[str], None], name: str, violation: str
) -> None:
    """A forged, replayed, oversized, halved or senseless frame ends that execution."""
    attack(name)
    result = await scene.run(source="f" * 32)
    assert result.status.value == "protocol_violation"
    assert [event.violation for event in scene.events(ProtocolViolated)] == [violation]
    assert "touch" not in scene.touched
    assert [event.status.value for event in scene.events(ExecutionEnded)] == ["protocol_violation"]


@pytest.mark.parametrize("name", ["output_flood", "empty_output_flood"])
async def test_a_flood_of_output_is_a_limit(
    scene: Scene, attack: Callable[[str], None], name: str
) -> None:
    """Output is bounded, and an empty message counts."""
    attack(name)
    result = await scene.run()
    assert result.status.value == "limit"
    assert result.error is not None
    assert result.error.details["limit"] == "output_bytes"


@pytest.mark.parametrize(
    "name", ["hang", "stalled_frame", "stalled_length", "stalled_large_frame", "trickle"]
)
async def test_a_worker_that_falls_silent_is_killed_at_the_wall_limit(
    scene: Scene, attack: Callable[[str], None], name: str
) -> None:
    """Silence, half a frame and a trickle of bytes are all bounded by `limits.wall_ms`."""
    attack(name)
    result = await scene.run(wall_ms=300)
    assert result.status.value == "limit"
    assert result.error is not None
    assert result.error.details["limit"] == "wall_ms"
    assert scene.touched == []


async def test_a_worker_that_never_reads_holds_up_nobody(
    scene: Scene, attack: Callable[[str], None]
) -> None:
    """Answers that are not taken wait in the channel, and end with it at the wall limit."""
    (scene.sandbox / "large.txt").write_text("x" * 500_000)
    attack("never_reading")
    result = await scene.run(wall_ms=1000)
    assert result.status.value == "limit"
    assert result.error is not None
    assert result.error.details["limit"] == "wall_ms"


async def test_frames_that_come_byte_by_byte_are_frames(
    scene: Scene, attack: Callable[[str], None]
) -> None:
    """Slowness alone is no offence: within the wall limit a slow worker is served."""
    attack("byte_by_byte")
    result = await scene.run()
    assert result.unwrap() == ["ok"]
    assert scene.touched == ["allowed"]


async def test_a_worker_that_stays_after_its_result_is_killed(
    scene: Scene, attack: Callable[[str], None]
) -> None:
    """The result counts, and the process is gone when the runtime is, whatever it ignores."""
    attack("stay_after_result")
    result = await scene.run()
    assert result.unwrap() == "done"


async def test_descriptors_that_a_worker_sends_are_dropped(
    scene: Scene, attack: Callable[[str], None]
) -> None:
    """The host asks for bytes alone, so that nobody can fill its table of descriptors."""
    attack("pass_descriptors")
    held: list[int] = []
    async with Runtime(
        scene.policy, registry=scene.registry, audit=scene.audit, workers=scene.workers
    ) as runtime:
        for _ in range(3):
            assert (await runtime.run("1")).unwrap() == "passed"
            held.append(len(list(Path("/proc/self/fd").iterdir())))
    # One execution passes thousands; spares that come and go hold a few each.
    assert max(held) - min(held) < 200


async def test_an_urgent_byte_does_not_disturb_the_host(
    scene: Scene, attack: Callable[[str], None]
) -> None:
    """What comes out of band is no part of the stream."""
    attack("urgent_byte")
    result = await scene.run()
    assert result.unwrap() == "after"
    assert result.stdout == "before"


@pytest.mark.parametrize(
    ("name", "started"),
    [("die_before_ready", False), ("die", True), ("die_by_signal", True), ("half_closed", True)],
)
async def test_a_worker_that_dies_says_whether_the_code_ran(
    scene: Scene, attack: Callable[[str], None], name: str, started: bool
) -> None:
    """`never ran` differs from `ran, result lost`."""
    attack(name)
    result = await scene.run()
    assert result.status.value == "worker_lost"
    assert result.started is started


class FirstHostile:
    """A source whose first workers lie; later ones are real."""

    def __init__(self, hostile: DirectWorkers, real: ZygoteSource, lies: int) -> None:
        self._hostile, self._real, self._left = hostile, real, lies
        self.layers = hostile.layers
        self.open = real.open

    async def start(self) -> Any:
        self._left -= 1
        return await (self._hostile if self._left >= 0 else self._real).start()


async def test_the_host_goes_on_after_every_attack(
    scene: Scene, attack: Callable[[str], None]
) -> None:
    """One runtime serves an honest execution after hostile ones."""
    attack("garbage")
    workers = FirstHostile(scene.workers, ZygoteSource(), 2)
    async with Runtime(
        scene.policy, registry=scene.registry, audit=scene.audit, workers=workers
    ) as runtime:
        while not (result := await runtime.run("1 + 1")).ok:
            assert result.status.value == "protocol_violation"
        assert result.value == 2


@pytest.mark.parametrize(
    ("name", "violation"),
    [
        ("request_before_the_second_cell_starts", "out_of_turn"),
        ("the_first_result_again", "forged_id"),
        ("foreign_session_id", "forged_id"),
    ],
)
async def test_a_lie_in_a_later_cell_ends_the_session(
    scene: Scene, attack: Callable[[str], None], name: str, violation: str
) -> None:
    """The cell before it stands, nothing reaches a provider, and there is no third."""
    attack(name)
    async with (
        Runtime(
            scene.policy, registry=scene.registry, audit=scene.audit, workers=scene.workers
        ) as runtime,
        runtime.session() as session,
    ):
        assert (await session.run("1")).value == "first"
        result = await session.run("2")
        assert result.status.value == "protocol_violation"
        assert session.ended is SessionEnd.PROTOCOL_VIOLATION
        with pytest.raises(SessionEndedError):
            await session.run("3")
    assert [event.violation for event in scene.events(ProtocolViolated)] == [violation]
    assert scene.touched == []
