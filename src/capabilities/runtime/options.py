"""The arguments of a `Runtime`, checked one by one before anything is opened."""

from __future__ import annotations

import os
from inspect import iscoroutinefunction

from caps.capabilities.registry import CapabilityRegistry, check_namespace
from caps.capabilities.telemetry import Metrics
from caps.protocol.argument_checks import (
    has_methods,
    require,
    require_int,
    require_path,
)
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.log.settings import AuditSettings

_DEFAULT_TIMEOUT_MS = 30_000
_MAX_TIMEOUT_MS = 3_600_000


def capability_timeout_ms(given: int | None) -> int:
    """The timeout of capability calls: `given`, or from the environment, or thirty seconds."""
    if given is not None:
        require_int("default_timeout_ms", given, 1, _MAX_TIMEOUT_MS)
        return given
    text = Variable.DEFAULT_TIMEOUT_MS.read()
    if not text:
        return _DEFAULT_TIMEOUT_MS
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= _MAX_TIMEOUT_MS:
        raise ConfigurationError(
            f"{Variable.DEFAULT_TIMEOUT_MS.key} is `{text}`; "
            f"set an integer from 1 to {_MAX_TIMEOUT_MS}, in milliseconds"
        )
    return value


_PATH = (str, os.PathLike)


def check_runtime_arguments(
    *,
    registry: object,
    audit: object,
    namespace: str,
    isolation: object,
    workers: object,
    metrics: object,
    tracer_provider: object,
    meter_provider: object,
    capture_arguments: object,
    watch: object,
    approver: object,
) -> None:
    """Raise ConfigurationError for the first argument of a wrong type; None is always allowed."""
    is_log = isinstance(audit, (*_PATH, AuditSettings, AuditSink))
    for name, value, fits, expected in (
        ("registry", registry, isinstance(registry, CapabilityRegistry), "a `CapabilityRegistry`"),
        ("audit", audit, is_log, "a path, `AuditSettings`, or a log"),
        ("isolation", isolation, isinstance(isolation, str), "`full` or `best-effort`"),
        (
            "workers",
            workers,
            has_methods(workers, "open", "start"),
            "a source of workers, or nothing",
        ),
        (
            "metrics",
            metrics,
            isinstance(metrics, Metrics) or has_methods(metrics, "register", "collect"),
            "a Prometheus `CollectorRegistry`",
        ),
        (
            "tracer_provider",
            tracer_provider,
            has_methods(tracer_provider, "get_tracer"),
            "an OpenTelemetry `TracerProvider`",
        ),
        (
            "meter_provider",
            meter_provider,
            has_methods(meter_provider, "get_meter"),
            "an OpenTelemetry `MeterProvider`",
        ),
        ("capture_arguments", capture_arguments, isinstance(capture_arguments, bool), "a `bool`"),
        ("watch", watch, isinstance(watch, bool), "a `bool`"),
        (
            "approver",
            approver,
            isinstance(approver, _PATH) or has_methods(approver, "__call__"),
            "an async function, or the path of a directory",
        ),
    ):
        require(value is None or fits, name, value, expected)
    for name, value in (("audit", audit), ("approver", approver)):
        if value == "":
            raise ConfigurationError(f"{name} is empty; pass the path of a directory")
        if isinstance(value, _PATH):
            require_path(name, value)
    require(isinstance(namespace, str), "namespace", namespace, "a `str`")
    check_namespace(namespace)


def check_revoke_arguments(
    execution_id: object, capability: object, by: object, reason: object
) -> None:
    """Raise ConfigurationError for arguments of `revoke` that have a wrong type."""
    require(isinstance(execution_id, str), "execution_id", execution_id, "a `str`")
    require(isinstance(capability, str), "capability", capability, "a `str`")
    for name, value in (("by", by), ("reason", reason)):
        require(value is None or isinstance(value, str), name, value, "a `str`, or None")


def check_run_arguments(on_output: object, check: object = False) -> None:
    """Raise ConfigurationError for arguments of `run` that have a wrong type."""
    fits = on_output is None or callable(on_output)
    require(fits, "on_output", on_output, "a function of one string")
    if on_output is not None and iscoroutinefunction(on_output):
        raise ConfigurationError("on_output must be a plain function; nobody awaits an `async def`")
    require(isinstance(check, bool), "check", check, "a `bool`")
