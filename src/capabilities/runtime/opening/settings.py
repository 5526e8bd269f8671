"""The settings of a runtime: its arguments, checked one by one before anything is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

import msgspec

from caps.capabilities.registry import CapabilityRegistry, check_namespace
from caps.capabilities.runtime.isolation import isolation_mode
from caps.capabilities.telemetry import Metrics, Tracing, default_metrics
from caps.protocol.argument_checks import (
    has_methods,
    require,
    require_int,
    require_path,
)
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.security.approvals.approver import DirectoryApprover
from caps.security.approvals.model import Approver
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.log.settings import AuditSettings
from caps.security.policies.load import Policies, PolicySource, listed
from caps.worker.host.process.scheduling import may_share_processor
from caps.worker.host.process.worker import WorkerSource
from caps.worker.host.zygote.source import ZygoteSource

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider
    from prometheus_client import CollectorRegistry

AuditGiven = AuditSink | AuditSettings | str | os.PathLike[str]
ApproverGiven = Approver | str | os.PathLike[str]

DEFAULT_WORKERS: Final = 256
_MAX_WAIT_MS: Final = 24 * 60 * 60 * 1000
_DEFAULT_TIMEOUT_MS: Final = 30_000
_MAX_TIMEOUT_MS: Final = 3_600_000
_PATH: Final = (str, os.PathLike)

# The arguments that may be None: which values fit, and how a message says so.
_EXPECTED: Final[tuple[tuple[str, Callable[[object], bool], str], ...]] = (
    ("registry", lambda it: isinstance(it, CapabilityRegistry), "a `CapabilityRegistry`"),
    (
        "audit",
        lambda it: isinstance(it, (*_PATH, AuditSettings, AuditSink)),
        "a path, `AuditSettings`, or a log",
    ),
    ("isolation", lambda it: isinstance(it, str), "`full` or `best-effort`"),
    ("workers", lambda it: has_methods(it, "open", "start"), "a source of workers, or nothing"),
    (
        "metrics",
        lambda it: isinstance(it, Metrics) or has_methods(it, "register", "collect"),
        "a Prometheus `CollectorRegistry`",
    ),
    (
        "tracer_provider",
        lambda it: has_methods(it, "get_tracer"),
        "an OpenTelemetry `TracerProvider`",
    ),
    (
        "meter_provider",
        lambda it: has_methods(it, "get_meter"),
        "an OpenTelemetry `MeterProvider`",
    ),
    ("capture_arguments", lambda it: isinstance(it, bool), "a `bool`"),
    ("watch", lambda it: isinstance(it, bool), "a `bool`"),
    (
        "approver",
        lambda it: isinstance(it, _PATH) or has_methods(it, "__call__"),
        "an async function, or the path of a directory",
    ),
)


class RuntimeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a `Runtime`, checked and with their defaults."""

    registry: CapabilityRegistry
    namespace: str
    policies: tuple[PolicySource | None, ...]
    watch: bool | None
    approver: Approver
    audit: AuditGiven | None
    isolation: str
    max_workers: int
    max_workers_per_principal: int | None
    max_wait_ms: int
    timeout_ms: int
    metrics: Metrics
    tracing: Tracing
    workers: WorkerSource


class RuntimeOptions(TypedDict):
    """The keyword arguments of `Runtime`, which documents them."""

    registry: CapabilityRegistry | None
    audit: AuditGiven | None
    namespace: str
    isolation: str | None
    workers: WorkerSource | None
    max_workers: int
    max_workers_per_principal: int | None
    max_wait_ms: int
    default_timeout_ms: int | None
    metrics: Metrics | CollectorRegistry | None
    tracer_provider: TracerProvider | None
    meter_provider: MeterProvider | None
    capture_arguments: bool | None
    watch: bool | None
    approver: ApproverGiven | None


def checked_settings(policy: Policies | None, **given: Unpack[RuntimeOptions]) -> RuntimeSettings:
    """The settings for the arguments of `Runtime`. ConfigurationError if one is invalid."""
    _check_types(given)
    _check_places(given)
    require_int("max_workers", given["max_workers"], 1)
    if given["max_workers_per_principal"] is not None:
        require_int("max_workers_per_principal", given["max_workers_per_principal"], 1)
    require_int("max_wait_ms", given["max_wait_ms"], 0, _MAX_WAIT_MS)
    may_share_processor()  # an invalid value is refused here; it is read when a worker calls often
    registry, metrics, workers = given["registry"], given["metrics"], given["workers"]
    if metrics is None:
        metrics = default_metrics()
    counted = metrics if isinstance(metrics, Metrics) else Metrics.of(metrics)
    return RuntimeSettings(
        registry=CapabilityRegistry() if registry is None else registry,
        namespace=given["namespace"],
        policies=listed(policy),
        watch=given["watch"],
        approver=_approver_from(given["approver"]),
        audit=given["audit"],
        isolation=isolation_mode(given["isolation"]),
        max_workers=given["max_workers"],
        max_workers_per_principal=given["max_workers_per_principal"],
        max_wait_ms=given["max_wait_ms"],
        timeout_ms=capability_timeout_ms(given["default_timeout_ms"]),
        metrics=counted,
        tracing=Tracing(
            given["tracer_provider"], given["meter_provider"], capture=given["capture_arguments"]
        ),
        workers=ZygoteSource(on_start=counted.zygote_started) if workers is None else workers,
    )


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


def _check_types(given: Mapping[str, object]) -> None:
    """Raise ConfigurationError for the first argument of a wrong type; None is always allowed."""
    for name, fits, expected in _EXPECTED:
        value = given[name]
        require(value is None or fits(value), name, value, expected)


def _check_places(given: RuntimeOptions) -> None:
    """Raise ConfigurationError for a path or a namespace that cannot be one."""
    for name, value in (("audit", given["audit"]), ("approver", given["approver"])):
        if value == "":
            raise ConfigurationError(f"{name} is empty; pass the path of a directory")
        if isinstance(value, _PATH):
            require_path(name, value)
    namespace = given["namespace"]
    require(isinstance(namespace, str), "namespace", namespace, "a `str`")
    check_namespace(namespace)


def _approver_from(given: ApproverGiven | None) -> Approver:
    """The given approver, or one that asks through a directory."""
    if given is None or isinstance(given, _PATH):
        return DirectoryApprover(None if given is None else Path(given))
    return given
