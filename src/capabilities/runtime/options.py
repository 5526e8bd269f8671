"""What a `Runtime` may be given, argument by argument; checked before anything is opened."""

from __future__ import annotations

import os

from caps.capabilities.registry import CapabilityRegistry, refuse_namespace
from caps.capabilities.telemetry import Metrics
from caps.protocol.errors import ConfigurationError
from caps.protocol.argument_checks import can, refuse_unless
from caps.security.audit.log.settings import AuditSettings

_PATH = (str, os.PathLike)


def refuse_foreign(
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
    """A ConfigurationError that names what is none of its kind; None is always one."""
    a_log = isinstance(audit, (*_PATH, AuditSettings)) or (
        can(audit, "append") and hasattr(audit, "redactor")
    )
    for name, value, fits, wanted in (
        ("registry", registry, isinstance(registry, CapabilityRegistry), "a `CapabilityRegistry`"),
        ("audit", audit, a_log, "a path, `AuditSettings`, or a log"),
        ("isolation", isolation, isinstance(isolation, str), "`full` or `best-effort`"),
        ("workers", workers, can(workers, "open", "start"), "a source of workers, or nothing"),
        (
            "metrics",
            metrics,
            isinstance(metrics, Metrics) or can(metrics, "register", "collect"),
            "a Prometheus `CollectorRegistry`",
        ),
        (
            "tracer_provider",
            tracer_provider,
            can(tracer_provider, "get_tracer"),
            "an OpenTelemetry `TracerProvider`",
        ),
        (
            "meter_provider",
            meter_provider,
            can(meter_provider, "get_meter"),
            "an OpenTelemetry `MeterProvider`",
        ),
        ("capture_arguments", capture_arguments, isinstance(capture_arguments, bool), "a `bool`"),
        ("watch", watch, isinstance(watch, bool), "a `bool`"),
        (
            "approver",
            approver,
            isinstance(approver, _PATH) or can(approver, "__call__"),
            "an async function, or the path of a directory",
        ),
    ):
        refuse_unless(value is None or fits, name, value, wanted)
    for name, value in (("audit", audit), ("approver", approver)):
        if value == "":
            raise ConfigurationError(f"{name} is empty; hand over the path of a directory")
    refuse_unless(isinstance(namespace, str), "namespace", namespace, "a `str`")
    refuse_namespace(namespace)


def refuse_foreign_listener(on_output: object, check: object = False) -> None:
    """A ConfigurationError for what an execution cannot be told to do with its code."""
    fits = on_output is None or callable(on_output)
    refuse_unless(fits, "on_output", on_output, "a function of one text")
    refuse_unless(isinstance(check, bool), "check", check, "a `bool`")
