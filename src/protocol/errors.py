"""The error tree, drawn once.

Both sides of the channel raise these classes: user space catches them inside the sandbox, an
embedding program catches them on the host. They are split by where the fault can be corrected.

    CapsError
    ├── CodeFault                    the code that runs in the sandbox
    │   ├── ExecutionError           it raised
    │   │   └── SourceError          it could not be compiled (`worker.inside.language`)
    │   └── ValidationError          a payload (or a policy test's payload) does not fit its schema
    ├── CallerFault                  the program that embeds Caps, or its operator
    │   ├── PolicyInvalidError       a policy is missing, malformed, or does not fit the registry
    │   ├── AgentInvalidError        an agent's capabilities do not fit the registry
    │   ├── RegistrationError        a function, capability or domain cannot be registered
    │   ├── ConfigurationError       an environment variable or argument is out of range
    │   ├── ToolCardError            a tool card or its key cannot be used (`agents.tool_cards`)
    │   │   └── CardConflictError    another card has this name and version
    │   ├── ExecutionUnknownError    no execution or session of that id is running here
    │   ├── SessionBusyError         a session runs one cell at a time
    │   └── SessionEndedError        the session is over; says why; open a new one
    ├── PolicyFault                  the policy refused it
    │   ├── PolicyDeniedError        the capability is not granted, or not for these arguments
    │   │   └── CapabilityMissingError   the same as a missing attribute (an AttributeError)
    │   ├── LimitExceededError       a quota or a bound of the policy's `limits` was reached
    │   └── ScopeViolationError      a provider met what its scope forbids (`security.scopes`)
    └── HostFault                    the host, or a service that it uses
        ├── ProviderError            a provider failed; the message is safe to show
        ├── CapabilityTimeoutError   a provider did not answer in time (a TimeoutError)
        ├── ProtocolError            the peer broke the protocol
        ├── WorkerLostError          the worker exited; says whether the code had started
        │   ├── NotReadyError        it was not ready in time (`worker.host.pool`)
        │   └── NoFreeWorkerError    none was free in time (`worker.host.pool`)
        ├── IsolationError           a layer is not fully in force, and that is not allowed
        ├── StoreError               the store failed (`store.errors`)
        │   ├── StoreBusyError       another writer held a lock for too long
        │   ├── StoreFullError       there is no room left
        │   ├── StoreUnreachableError    it cannot be opened, or does not answer
        │   └── SchemaNewerError     its tables belong to a newer version of Caps
        └── AuditError               evidence could not be written or read. Before an effect: the
                                     effect does not happen. After it: its result is withheld
            └── UndeliveredError     it was written, but a required sink does not have it
                                     (`security.audit`)

`code` is stable and lowercase. Messages are for people and may change.
"""

from __future__ import annotations

from typing import Any, ClassVar


class CapsError(Exception):
    """Base of everything that Caps raises on purpose."""

    code: ClassVar[str] = "caps_error"

    def __init__(self, message: str, /, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = details

    def __getattr__(self, name: str) -> Any:
        # `e.capability`, `e.reason` and the like read the details that the error carries.
        if name.startswith("_") or name in ("message", "details"):
            raise AttributeError(name)
        try:
            return self.details[name]
        except KeyError:
            raise AttributeError(f"`{type(self).__name__}` has no detail `{name}`") from None

    def __reduce__(self) -> Any:
        # Details are keyword-only: the default reduction of exceptions would lose them.
        return (_rebuild, (type(self), self.message, self.details))


def _rebuild(cls: type[CapsError], message: str, details: dict[str, Any]) -> CapsError:
    return cls(message, **details)


class CodeFault(CapsError):
    code = "code_fault"


class ExecutionError(CodeFault):
    code = "execution_error"


class ValidationError(CodeFault):
    """Details: `capability`, `problems` (a list of {path, expected, got})."""

    code = "validation_error"


class CallerFault(CapsError):
    code = "caller_fault"


class PolicyInvalidError(CallerFault):
    """Details: `source` (the file or `dict`), `place` (where in it)."""

    code = "policy_invalid"


class AgentInvalidError(CallerFault):
    """Details: `place` (where in the agent's object)."""

    code = "agent_invalid"


class RegistrationError(CallerFault):
    code = "registration_error"


class ConfigurationError(CallerFault):
    code = "configuration_error"


class ExecutionUnknownError(CallerFault):
    """Details: `execution_id`."""

    code = "execution_unknown"


class SessionBusyError(CallerFault):
    code = "session_busy"


class SessionEndedError(CallerFault):
    """Details: `reason` (a value of `caps.SessionEnd`)."""

    code = "session_ended"


class PolicyFault(CapsError):
    code = "policy_fault"


class PolicyDeniedError(PolicyFault):
    """Details: `capability`, `reason` (a stable reason code), `policy_id`."""

    code = "policy_denied"


class CapabilityMissingError(PolicyDeniedError, AttributeError):
    """What `caps.files.write` raises when it is not granted; `hasattr` is therefore False."""


class LimitExceededError(PolicyFault):
    """Details: `limit` (the name of the limit), `allowed` (its value)."""

    code = "limit_exceeded"


class HostFault(CapsError):
    code = "host_fault"


class ProviderError(HostFault):
    code = "provider_error"


class CapabilityTimeoutError(HostFault, TimeoutError):
    code = "capability_timeout"


class ProtocolError(HostFault):
    """Details: `violation` (a stable name of the rule that was broken)."""

    code = "protocol_error"


class WorkerLostError(HostFault):
    """Details: `started` (False: the code never ran; True: it ran and its result is lost)."""

    code = "worker_lost"


class IsolationError(HostFault):
    """Details: `missing` (the names of the layers that are not fully in force)."""

    code = "isolation_error"


class AuditError(HostFault):
    code = "audit_error"


# What a capability call may raise in user space. The wire carries the code. An unknown code is a
# ProtocolError; a class is never looked up by its name.
CALL_ERRORS: dict[str, type[CapsError]] = {
    cls.code: cls
    for cls in (
        PolicyDeniedError,
        ValidationError,
        LimitExceededError,
        CapabilityTimeoutError,
        ProviderError,
        AuditError,
    )
}

# What user space can name in an `except` clause.
USER_ERRORS: tuple[type[CapsError], ...] = (
    CapsError,
    PolicyDeniedError,
    CapabilityMissingError,
    ValidationError,
    LimitExceededError,
    CapabilityTimeoutError,
    ProviderError,
    AuditError,
    ExecutionError,
    ProtocolError,
)
