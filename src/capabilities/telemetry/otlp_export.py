"""(8) Export by OTLP, set by the usual OTEL_* variables; without them nothing is even imported.

For programs that are run from the command line. A program that embeds Caps sets up OpenTelemetry
itself, and its providers are used: a provider that has been set already is never replaced.

    OTEL_SDK_DISABLED                              `true`: nothing is exported
    OTEL_EXPORTER_OTLP_ENDPOINT, .._TRACES_.., .._METRICS_..
                                                   the destination; setting one turns export on
    OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER    `otlp`, `console` or `none`
    OTEL_EXPORTER_OTLP_PROTOCOL and the like       `http/protobuf`, installed by the extra `otlp`
    TRACEPARENT                                    the trace that this process belongs to

All others, such as OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER and OTEL_EXPORTER_OTLP_HEADERS, are read
by the SDK.
"""

from __future__ import annotations

import enum
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import msgspec

from caps.protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

Signal = Literal["TRACES", "METRICS"]
_Provider = TypeVar("_Provider")

SERVICE_NAME: Final = "caps"
_PROTOCOL: Final = "http/protobuf"
# For the last spans when a program ends: an unreachable collector must not delay it for long.
_LAST_EXPORT_SECONDS: Final = 5.0

logger = logging.getLogger(__name__)


class Exporter(enum.Enum):
    """Where a signal goes."""

    OTLP = "otlp"
    CONSOLE = "console"
    NONE = "none"


class Providers(msgspec.Struct, frozen=True):
    """The providers for a runtime; None means the global provider."""

    tracer: TracerProvider | None = None
    meter: MeterProvider | None = None


def exporter_for(signal: Signal, environ: Mapping[str, str]) -> Exporter:
    """The exporter that the variables set for `signal`. ConfigurationError for an unknown value."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Exporter.NONE
    variable = f"OTEL_{signal}_EXPORTER"
    name = environ.get(variable, "").strip().lower()
    if not name:
        endpoints = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
        name = "otlp" if any(environ.get(endpoint) for endpoint in endpoints) else "none"
    try:
        exporter = Exporter(name)
    except ValueError:
        raise ConfigurationError(
            f"{variable} is `{name}`; set `otlp`, `console` or `none`"
        ) from None
    if exporter is Exporter.OTLP:
        _check_protocol(signal, environ)
    return exporter


def _check_protocol(signal: Signal, environ: Mapping[str, str]) -> None:
    for variable in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if (protocol := environ.get(variable, "").strip()) and protocol != _PROTOCOL:
            raise ConfigurationError(f"{variable} is `{protocol}`; set `{_PROTOCOL}`")
        if protocol:
            return


@contextmanager
def exporting(environ: Mapping[str, str] | None = None) -> Iterator[Providers]:
    """The providers set by the variables; at the end of the context all data is sent.

    Inside, the trace of TRACEPARENT is the current one. Raises ConfigurationError.
    """
    environ = os.environ if environ is None else environ
    traces, values = exporter_for("TRACES", environ), exporter_for("METRICS", environ)
    if traces is values is Exporter.NONE and not environ.get("TRACEPARENT"):
        yield Providers()
        return
    from opentelemetry import context as otel_context
    from opentelemetry import metrics, trace

    providers = Providers(
        None if traces is Exporter.NONE or _traces_are_set_up() else _tracer_provider(traces),
        None if values is Exporter.NONE or _metrics_are_set_up() else _meter_provider(values),
    )
    if providers.tracer is not None:
        trace.set_tracer_provider(providers.tracer)  # for the providers of capabilities, too
    if providers.meter is not None:
        metrics.set_meter_provider(providers.meter)
    token = otel_context.attach(_incoming(environ))
    try:
        yield providers
    finally:
        otel_context.detach(token)
        _send_all(providers)


def _incoming(environ: Mapping[str, str]) -> Context:
    """The current context with the trace of TRACEPARENT, which is ignored if it is malformed."""
    from opentelemetry import context as otel_context
    from opentelemetry import trace

    from caps.capabilities.telemetry.trace_context import parse_traceparent

    parent = parse_traceparent(environ.get("TRACEPARENT", ""))
    if parent is None:
        return otel_context.get_current()
    return trace.set_span_in_context(trace.NonRecordingSpan(parent))


def _traces_are_set_up() -> bool:
    from opentelemetry import trace

    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def _metrics_are_set_up() -> bool:
    from opentelemetry import metrics

    # The class of the API's placeholder is private; only a provider of the SDK has `shutdown`.
    return hasattr(metrics.get_meter_provider(), "shutdown")


def _tracer_provider(exporter: Exporter) -> TracerProvider:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

    def make() -> TracerProvider:
        if exporter is Exporter.CONSOLE:
            return _with_processor(BatchSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return _with_processor(BatchSpanProcessor(OTLPSpanExporter()))

    def _with_processor(processor: BatchSpanProcessor) -> TracerProvider:
        # `exporting` shuts it down, not the exit handler, where threads cannot be joined.
        provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        provider.add_span_processor(processor)
        return provider

    return _configured(make)


def _meter_provider(exporter: Exporter) -> MeterProvider:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import (
        ConsoleMetricExporter,
        MetricExporter,
        PeriodicExportingMetricReader,
    )

    def make() -> MeterProvider:
        chosen: MetricExporter
        if exporter is Exporter.CONSOLE:
            chosen = ConsoleMetricExporter(out=sys.stderr)
        else:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

            chosen = OTLPMetricExporter()
        reader = PeriodicExportingMetricReader(chosen)
        return MeterProvider([reader], resource=_resource(), shutdown_on_exit=False)

    return _configured(make)


def _resource() -> Resource:
    from opentelemetry.sdk.resources import Resource

    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name" in os.environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    return Resource.create({} if named else {"service.name": SERVICE_NAME})


def _configured(make: Callable[[], _Provider]) -> _Provider:
    try:
        return make()
    except ImportError:
        raise ConfigurationError(
            "export by OTLP is asked for and not installed; install `caps-runtime[otlp]`, or set "
            "OTEL_SDK_DISABLED=true"
        ) from None
    except Exception as error:
        raise ConfigurationError(f"the OTEL_ variables cannot be used: {error}") from error


def _send_all(providers: Providers) -> None:
    """Send what is left of both signals concurrently, and wait for a bounded time."""
    found = [provider for provider in (providers.tracer, providers.meter) if provider]
    threads = [
        threading.Thread(target=provider.shutdown, name="caps-otlp", daemon=True)
        for provider in found
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _LAST_EXPORT_SECONDS
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    if any(thread.is_alive() for thread in threads):
        logger.warning("the collector did not answer within %g seconds", _LAST_EXPORT_SECONDS)
