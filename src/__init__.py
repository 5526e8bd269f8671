"""Caps runs untrusted Python with exactly the powers that a policy grants, and records every use.

The names below are the public interface. Each is loaded when it is first used, so that a worker,
which imports `caps.worker.inside`, and the command line load only what they need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caps.capabilities.artifacts import Artifact
    from caps.capabilities.catalogue.capability import (
        Capability,
        CapabilityConfig,
        CapabilityStatus,
        ResolvedCapability,
        ResolvedConfig,
        ToolDescriptor,
    )
    from caps.capabilities.catalogue.context import ResolverContext
    from caps.capabilities.catalogue.declaration import CapabilityDescriptor
    from caps.capabilities.catalogue.injections import ExecutionMode
    from caps.capabilities.catalogue.result import (
        ResolvedCapabilities,
        ResolvedTool,
        RuntimeAgent,
    )
    from caps.capabilities.provider import CallContext, Scope, ScopeViolationError, Violation
    from caps.capabilities.registry import CapabilityRegistry
    from caps.capabilities.runtime.call import CallResult
    from caps.capabilities.runtime.formats.markdown import strip_fences
    from caps.capabilities.runtime.result import ExecutionResult, Failure
    from caps.capabilities.runtime.runtime import Runtime
    from caps.capabilities.runtime.session import Session
    from caps.capabilities.runtime.stream import (
        Decided,
        Finished,
        HandedOut,
        Output,
        Started,
        StreamEvent,
    )
    from caps.capabilities.spec import CapabilitySpec
    from caps.capabilities.telemetry import Metrics
    from caps.protocol.errors import (
        AgentInvalidError,
        AuditError,
        CapabilityTimeoutError,
        CapsError,
        ConfigurationError,
        ExecutionError,
        ExecutionUnknownError,
        IsolationError,
        LimitExceededError,
        PolicyDeniedError,
        PolicyInvalidError,
        ProtocolError,
        ProviderError,
        RegistrationError,
        SessionBusyError,
        SessionEndedError,
        ValidationError,
        WorkerLostError,
    )
    from caps.providers.builtin import builtin_registry
    from caps.security.approvals.model import ApprovalAnswer, ApprovalRequest
    from caps.security.audit import (
        AuditLog,
        AuditSettings,
        Durability,
        MemoryAuditLog,
        Rotation,
    )
    from caps.security.policy import SecurityPolicy
    from caps.worker.host.pool.admission import NoFreeWorkerError
    from caps.worker.host.pool.lease import SessionEnd

_MODULES = {
    "AgentInvalidError": "caps.protocol.errors",
    "ApprovalAnswer": "caps.security.approvals.model",
    "ApprovalRequest": "caps.security.approvals.model",
    "Artifact": "caps.capabilities.artifacts",
    "AuditError": "caps.protocol.errors",
    "AuditLog": "caps.security.audit",
    "AuditSettings": "caps.security.audit",
    "CallContext": "caps.capabilities.provider",
    "CallResult": "caps.capabilities.runtime.call",
    "Capability": "caps.capabilities.catalogue.capability",
    "CapabilityConfig": "caps.capabilities.catalogue.capability",
    "CapabilityDescriptor": "caps.capabilities.catalogue.declaration",
    "CapabilityRegistry": "caps.capabilities.registry",
    "CapabilitySpec": "caps.capabilities.spec",
    "CapabilityStatus": "caps.capabilities.catalogue.capability",
    "CapabilityTimeoutError": "caps.protocol.errors",
    "CapsError": "caps.protocol.errors",
    "ConfigurationError": "caps.protocol.errors",
    "Decided": "caps.capabilities.runtime.stream",
    "Durability": "caps.security.audit",
    "ExecutionError": "caps.protocol.errors",
    "ExecutionMode": "caps.capabilities.catalogue.injections",
    "ExecutionResult": "caps.capabilities.runtime.result",
    "ExecutionUnknownError": "caps.protocol.errors",
    "Failure": "caps.capabilities.runtime.result",
    "Finished": "caps.capabilities.runtime.stream",
    "HandedOut": "caps.capabilities.runtime.stream",
    "IsolationError": "caps.protocol.errors",
    "LimitExceededError": "caps.protocol.errors",
    "MemoryAuditLog": "caps.security.audit",
    "Metrics": "caps.capabilities.telemetry",
    "NoFreeWorkerError": "caps.worker.host.pool.admission",
    "Output": "caps.capabilities.runtime.stream",
    "PolicyDeniedError": "caps.protocol.errors",
    "PolicyInvalidError": "caps.protocol.errors",
    "ProtocolError": "caps.protocol.errors",
    "ProviderError": "caps.protocol.errors",
    "RegistrationError": "caps.protocol.errors",
    "ResolvedCapabilities": "caps.capabilities.catalogue.result",
    "ResolvedCapability": "caps.capabilities.catalogue.capability",
    "ResolvedConfig": "caps.capabilities.catalogue.capability",
    "ResolvedTool": "caps.capabilities.catalogue.result",
    "ResolverContext": "caps.capabilities.catalogue.context",
    "Rotation": "caps.security.audit",
    "Runtime": "caps.capabilities.runtime.runtime",
    "RuntimeAgent": "caps.capabilities.catalogue.result",
    "Scope": "caps.capabilities.provider",
    "ScopeViolationError": "caps.capabilities.provider",
    "SecurityPolicy": "caps.security.policy",
    "Session": "caps.capabilities.runtime.session",
    "SessionBusyError": "caps.protocol.errors",
    "SessionEnd": "caps.worker.host.pool.lease",
    "SessionEndedError": "caps.protocol.errors",
    "Started": "caps.capabilities.runtime.stream",
    "StreamEvent": "caps.capabilities.runtime.stream",
    "ToolDescriptor": "caps.capabilities.catalogue.capability",
    "ValidationError": "caps.protocol.errors",
    "Violation": "caps.capabilities.provider",
    "WorkerLostError": "caps.protocol.errors",
    "builtin_registry": "caps.providers.builtin",
    "strip_fences": "caps.capabilities.runtime.formats.markdown",
}

__all__ = [
    "AgentInvalidError",
    "ApprovalAnswer",
    "ApprovalRequest",
    "Artifact",
    "AuditError",
    "AuditLog",
    "AuditSettings",
    "CallContext",
    "CallResult",
    "Capability",
    "CapabilityConfig",
    "CapabilityDescriptor",
    "CapabilityRegistry",
    "CapabilitySpec",
    "CapabilityStatus",
    "CapabilityTimeoutError",
    "CapsError",
    "ConfigurationError",
    "Decided",
    "Durability",
    "ExecutionError",
    "ExecutionMode",
    "ExecutionResult",
    "ExecutionUnknownError",
    "Failure",
    "Finished",
    "HandedOut",
    "IsolationError",
    "LimitExceededError",
    "MemoryAuditLog",
    "Metrics",
    "NoFreeWorkerError",
    "Output",
    "PolicyDeniedError",
    "PolicyInvalidError",
    "ProtocolError",
    "ProviderError",
    "RegistrationError",
    "ResolvedCapabilities",
    "ResolvedCapability",
    "ResolvedConfig",
    "ResolvedTool",
    "ResolverContext",
    "Rotation",
    "Runtime",
    "RuntimeAgent",
    "Scope",
    "ScopeViolationError",
    "SecurityPolicy",
    "Session",
    "SessionBusyError",
    "SessionEnd",
    "SessionEndedError",
    "Started",
    "StreamEvent",
    "ToolDescriptor",
    "ValidationError",
    "Violation",
    "WorkerLostError",
    "builtin_registry",
    "strip_fences",
]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module `caps` has no attribute `{name}`")
    import importlib

    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
