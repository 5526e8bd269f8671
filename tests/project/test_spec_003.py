"""Each line of specification 003 that can be tested, named by the test that holds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from prometheus_client import CollectorRegistry

from caps import (
    CapabilityRegistry,
    CapabilitySpec,
    MemoryAuditLog,
    Metrics,
    Runtime,
    SecurityPolicy,
    builtin_registry,
)
from caps.capabilities.runtime.result import ExecutionResult
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit import DecisionMade, ExecutionStarted
from caps.security.policies.load import load_policy

pytestmark = pytest.mark.anyio


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    folder = tmp_path / "sandbox"
    folder.mkdir()
    (folder / "notes.txt").write_text("hello")
    return folder


def reader(sandbox: Path, **more: Any) -> dict[str, Any]:
    return {
        "id": "reader",
        "allow": ["files.read"],
        "scopes": {"files": {"allowlist": [str(sandbox)]}},
        **more,
    }


async def run(
    policy: Any,
    source: str,
    *,
    registry: CapabilityRegistry | None = None,
    audit: MemoryAuditLog | None = None,
    metrics: Metrics | None = None,
    principal: str = "ada",
) -> ExecutionResult:
    async with Runtime(
        policy,
        registry=builtin_registry() if registry is None else registry,
        audit=MemoryAuditLog() if audit is None else audit,
        metrics=metrics or Metrics(CollectorRegistry()),
    ) as runtime:
        return await runtime.run(source, principal=principal, agent="a1", session="s1")


@pytest.mark.process
@pytest.mark.spec("Design: inject as caps.<domain>.<fn> wrappers")
async def test_wrappers_are_namespaced(sandbox: Path) -> None:
    """A granted capability is `caps.files.read`."""
    result = await run(reader(sandbox), "(await caps.files.read(path='notes.txt')).content")
    assert result.value == "hello"


@pytest.mark.process
@pytest.mark.spec("Design: wrappers only marshal/validate and send across the transport")
async def test_the_provider_runs_on_the_host_and_not_in_the_worker() -> None:
    """What a wrapper calls happens in another process."""
    registry = CapabilityRegistry()

    @registry.capability("probe.pid")
    async def pid() -> int:
        return os.getpid()

    result = await run({"allow": ["probe.pid"]}, "await caps.probe.pid()", registry=registry)
    assert result.value == os.getpid()


@pytest.mark.process
@pytest.mark.spec("Design: policy with per-domain scopes; deny-by-default; auditable decisions")
@pytest.mark.parametrize("policy", [None, {}, {"allow": []}, {"allow": ["time.now"]}])
async def test_nothing_is_granted_by_default(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no rule allows has no wrapper."""
    monkeypatch.delenv("CAPS_POLICY_PATH", raising=False)
    result = await run(policy, "hasattr(caps, 'files')")
    assert result.value is False


@pytest.mark.spec("Types: CapabilitySpec is a Pydantic model that emits JSON Schema for docs")
async def test_specs_are_models_with_a_json_schema() -> None:
    """`name, schema_in, schema_out, tags` exist with their defaults."""
    spec = CapabilitySpec(name="a.b")
    assert (spec.schema_in, spec.schema_out, spec.tags) == ({}, {}, frozenset())
    assert "schema_in" in CapabilitySpec.model_json_schema()["properties"]
    assert all("schema_in" in entry for entry in builtin_registry().describe())


@pytest.mark.spec("Types: SecurityPolicy has allow, deny, scopes")
async def test_a_policy_has_its_three_parts() -> None:
    """All three are empty by default."""
    policy = SecurityPolicy()
    assert (set(policy.allow), set(policy.deny), dict(policy.scopes)) == (set(), set(), {})


@pytest.mark.spec("Types: CapabilityRequestMessage")
async def test_the_request_has_exactly_the_fields_of_the_spec() -> None:
    """No field more, none less."""
    fields = ("id", "timestamp", "request_id", "capability", "payload", "idempotency_key")
    assert CapabilityRequestMessage.__struct_fields__ == (*fields, "timeout_ms")
    assert CapabilityRequestMessage.type == "capability_request"


@pytest.mark.spec("Public API: register(spec), inject(namespace, execution_id, policy)")
async def test_inject_gives_the_grant_of_one_execution(sandbox: Path) -> None:
    """Policy times registry is what the execution may do."""
    grant = builtin_registry().inject("caps", "e1", reader(sandbox))
    assert grant.execution_id == "e1"
    assert grant.chain.granted == ("files.read",)


@pytest.mark.process
@pytest.mark.spec("Invariant: namespaced injection only; no global pollution")
async def test_user_space_has_one_name_more(sandbox: Path) -> None:
    """Only `caps` is added to the user's names; a domain is not a name by itself."""
    source = "found = []\n" + "".join(
        f"try:\n    {name}\n    found.append('{name}')\nexcept NameError:\n    pass\n"
        for name in ("files", "read", "math", "caps")
    )
    result = await run(reader(sandbox), source + "found")
    assert result.value == ["caps"]


@pytest.mark.process
@pytest.mark.spec("Invariant: policy is non-bypassable; if not allowed, wrapper absent")
async def test_what_is_not_allowed_has_no_wrapper(sandbox: Path) -> None:
    """`hasattr` and `dir` agree that it is not there."""
    source = "hasattr(caps.files, 'write'), dir(caps.files)"
    assert (await run(reader(sandbox), source)).value == (False, ["read"])


@pytest.mark.process
@pytest.mark.spec("Error: disallowed capability -> PolicyDeniedError; missing wrapper is clear")
async def test_touching_what_is_not_granted_says_so(sandbox: Path) -> None:
    """The error names the capability and the policy, and can be caught by its class."""
    source = """
try:
    await caps.files.write(path="x", content="y")
except PolicyDeniedError as error:
    found = [str(error), error.capability, isinstance(error, AttributeError)]
found
"""
    message, capability, is_attribute_error = (await run(reader(sandbox), source)).value
    assert "`files.write` is not granted by policy `reader`" in message
    assert (capability, is_attribute_error) == ("files.write", True)


@pytest.mark.process
@pytest.mark.spec("Error: payload validation errors -> structured ValidationError")
async def test_a_wrong_payload_is_a_structured_error(sandbox: Path) -> None:
    """Path, expected and got are data."""
    source = """
try:
    await caps.files.read(path=5)
except ValidationError as error:
    found = error.problems
found
"""
    result = await run(reader(sandbox), source)
    assert result.value == [{"path": "$.path", "expected": "type string", "got": "5"}]


@pytest.mark.process
@pytest.mark.spec("Config: CAPS_POLICY_PATH (optional)")
async def test_the_policy_comes_from_the_environment(
    tmp_path: Path, sandbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a policy argument, the variable names the file."""
    path = tmp_path / "policy.json"
    path.write_text('{"id": "env", "allow": ["time.now"]}')
    monkeypatch.setenv("CAPS_POLICY_PATH", str(path))
    assert load_policy().policy.id == "env"
    assert (await run(None, "dir(caps.time)")).value == ["now"]


@pytest.mark.process
@pytest.mark.spec("Config: CAPS_CAPABILITY_DEFAULT_TIMEOUT_MS")
async def test_the_default_timeout_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A provider that takes longer is cancelled."""
    ended: list[str] = []
    registry = CapabilityRegistry()

    @registry.capability("slow.wait")
    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")

    monkeypatch.setenv("CAPS_CAPABILITY_DEFAULT_TIMEOUT_MS", "50")
    source = """
try:
    await caps.slow.wait.options(timeout_ms=60000)()
except CapabilityTimeoutError as error:
    found = error.timeout_ms
found
"""
    result = await run({"allow": ["slow.wait"]}, source, registry=registry)
    assert (result.value, ended) == (50, ["cancelled"])


@pytest.mark.process
@pytest.mark.spec("Observability: capability_injected_total, policy_denied_total")
async def test_injections_and_denials_are_counted(sandbox: Path) -> None:
    """By capability, and denials also by reason."""
    collected = CollectorRegistry()
    source = """
try:
    await caps.files.read(path="/etc/passwd")
except PolicyDeniedError:
    pass
"""
    await run(reader(sandbox), source, metrics=Metrics(collected))
    injected = collected.get_sample_value("capability_injected_total", {"capability": "files.read"})
    denied = collected.get_sample_value(
        "policy_denied_total", {"capability": "files.read", "reason": "scope_violation"}
    )
    assert (injected, denied) == (1.0, 1.0)


@pytest.mark.process
@pytest.mark.spec("Observability: decision records with who/what/why")
async def test_a_decision_says_who_what_and_why(sandbox: Path) -> None:
    """Principal, agent, session; capability and shown arguments; decision, reason, rule, policy."""
    audit = MemoryAuditLog()
    result = await run(reader(sandbox), "await caps.files.read(path='notes.txt')", audit=audit)
    (made,) = [event for event in audit.events if isinstance(event, DecisionMade)]
    assert (made.principal, made.agent, made.session) == ("ada", "a1", "s1")
    assert made.execution_id == result.execution_id
    assert (made.capability, made.shown) == ("files.read", {"path": "notes.txt"})
    assert (made.decision, made.reason, made.rule) == ("allow", "allowed", "files.read")
    assert made.policy_id == "reader"
    assert made.policy_sha256 == load_policy(reader(sandbox)).policy.sha256


@pytest.mark.spec("Security: no dynamic eval in wrappers")
async def test_wrappers_are_built_without_eval() -> None:
    """The file that builds them calls neither eval, exec nor compile."""
    from caps.worker.inside.caps_api import namespace

    source = Path(namespace.__file__).read_text()
    assert not any(f"{word}(" in source for word in ("eval", "exec", "compile", "__import__"))


@pytest.mark.process
@pytest.mark.spec("Compatibility: additive; registry empty by default")
async def test_a_registry_is_empty_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime without a registry still runs code, which is granted nothing."""
    monkeypatch.delenv("CAPS_POLICY_PATH", raising=False)
    assert len(CapabilityRegistry()) == 0
    async with Runtime(audit=MemoryAuditLog()) as runtime:
        assert (await runtime.run("repr(caps)")).value == "<caps: nothing granted>"


@pytest.mark.spec("Performance: injection overhead < 1 ms/capability")
async def test_injection_does_not_grow_with_the_registry() -> None:
    """A grant shares what was bound once: the same objects, however many there are."""
    registry = CapabilityRegistry()
    for number in range(200):
        registry.register(CapabilitySpec(name=f"many.f{number}"), lambda _c, _p: None)
    bound = registry.bind({"allow": ["many.*"]})
    one, two = registry.inject("caps", "a", bound), registry.inject("caps", "b", bound)
    assert one.terms is two.terms
    assert one.chain.manifest is two.chain.manifest


@pytest.mark.process
@pytest.mark.spec("Test plan: unit: allow/deny/scopes; missing wrappers")
async def test_deny_beats_allow(sandbox: Path) -> None:
    """A wildcard grant loses what a deny takes back."""
    policy = reader(sandbox, allow=["files.*"], deny=["files.delete"])
    names = ["copy", "glob", "grep", "list", "move", "read", "stat", "write"]
    assert (await run(policy, "dir(caps.files)")).value == names


@pytest.mark.process
@pytest.mark.spec("Test plan: integration: allowed succeeds; disallowed fails with clear error")
async def test_a_session_with_an_uncaught_denial_ends_as_refused(sandbox: Path) -> None:
    """The result tells a refusal from a failure of the code, with the user's line."""
    result = await run(reader(sandbox), "x = 1\nawait caps.files.delete(path='notes.txt')")
    assert result.status.value == "policy_refused"
    assert result.error is not None
    assert (result.error.code, result.error.line) == ("policy_denied", 2)


@pytest.mark.process
@pytest.mark.spec("Acceptance: capabilities are injected only when allowed; decisions auditable")
async def test_the_start_of_an_execution_says_what_was_injected_and_withheld(
    sandbox: Path,
) -> None:
    """Granted and withheld together are all that is registered."""
    audit = MemoryAuditLog()
    await run(reader(sandbox), "1", audit=audit)
    (started,) = [event for event in audit.events if isinstance(event, ExecutionStarted)]
    withheld = {entry.capability: entry.reason for entry in started.withheld}
    assert started.granted == ["files.read"]
    assert withheld["files.delete"] == "not_allowed"
    assert set(started.granted) | set(withheld) == {spec.name for spec in builtin_registry()}


@pytest.mark.process
@pytest.mark.spec("Open question: policy format: JSON")
async def test_a_policy_is_json_with_a_current_schema() -> None:
    """The published JSON Schema is the one that the model gives."""
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, "-m", "caps.security.policies.json_schema", "--check"]
    assert subprocess.run(command, cwd=root, check=False).returncode == 0
