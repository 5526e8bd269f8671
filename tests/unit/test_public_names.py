"""One way in: what `caps` exports, and that it costs nothing until it is used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import caps

PUBLIC = """
AgentInvalidError ApprovalAnswer ApprovalRequest Artifact AuditError AuditLog AuditSettings
CallContext CallResult Capability CapabilityConfig CapabilityDescriptor CapabilityRegistry
CapabilitySpec CapabilityStatus CapabilityTimeoutError CapsError ConfigurationError Decided
Durability ExecutionError ExecutionMode ExecutionResult ExecutionUnknownError Failure Finished
HandedOut IsolationError LimitExceededError
MemoryAuditLog Metrics NoFreeWorkerError Output PolicyDeniedError PolicyInvalidError ProtocolError
ProviderError RegistrationError ResolvedCapabilities ResolvedCapability ResolvedConfig ResolvedTool
ResolverContext Rotation Runtime RuntimeAgent Scope ScopeViolationError SecurityPolicy Session
SessionBusyError SessionEnd SessionEndedError Started StreamEvent ToolDescriptor ValidationError
Violation WorkerLostError builtin_registry strip_fences
""".split()


def test_the_public_names_are_these() -> None:
    """Adding or dropping one is a decision, not an accident."""
    assert caps.__all__ == PUBLIC


def test_the_public_names_are_sorted_and_have_a_home() -> None:
    """What is exported is what is found, in one order."""
    assert caps.__all__ == sorted(caps.__all__)
    assert caps.__all__ == sorted(caps._MODULES)
    assert dir(caps) == caps.__all__


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_the_thing_at_its_home(name: str) -> None:
    """The same object, by either way."""
    home = importlib.import_module(caps._MODULES[name])
    assert getattr(caps, name) is getattr(home, name)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As for any module."""
    with pytest.raises(AttributeError, match="module `caps` has no attribute `Runtimes`"):
        caps.Runtimes  # noqa: B018


@pytest.mark.process
def test_importing_caps_loads_nothing_of_it() -> None:
    """A worker imports `caps.worker.inside` through this package and must stay small."""
    code = "import caps, sys; print([n for n in sys.modules if n.startswith('caps.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
