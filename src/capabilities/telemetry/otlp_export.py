"""(8) Export by OTLP, as the usual OTEL_* variables say; without them nothing is even imported.

For programs that are run from the command line. A program that embeds Caps sets up OpenTelemetry
itself, and its providers are used as they are, here too: where a provider has been set already, no
other takes its place.

    OTEL_SDK_DISABLED                              `true`: nothing is exported
    OTEL_EXPORTER_OTLP_ENDPOINT, .._TRACES_.., .._METRICS_..
                                                   where to; one of them turns its signals on
    OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER    `otlp`, `console` or `none`
    OTEL_EXPORTER_OTLP_PROTOCOL and the like       `http/protobuf`, which the extra `otlp` brings
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
# The last spans of a program that ends; a collector that is away must not hold it up for long.
_LAST_EXPORT_SECONDS: Final = 5.0

logger = logging.getLogger(__name__)


class Exporter(enum.Enum):
    """Where a signal goes."""

    OTLP = "otlp"
    CONSOLE = "console"
    NONE = "none"


class Providers(msgspec.Struct, frozen=True):
    """What a runtime is given; None leaves the global provider in its place."""

    tracer: TracerProvider | None = None
    meter: MeterProvider | None = None


def exporter_for(signal: Signal, environ: Mapping[str, str]) -> Exporter:
    """What the variables say of `signal`. ConfigurationError if they ask for what is not there."""
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
    """Providers as the variables say, until the end of the context, where all is sent.

    Within, the trace that TRACEPARENT names is the current one. Raises ConfigurationError.
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
    """The context of this process with what TRACEPARENT says; what it says badly is nothing."""
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

    # The API keeps the name of its stand-in to itself; a provider of the SDK can be shut down.
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
        # Sent by `exporting`, and not at exit, when threads cannot be waited for.
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
        raise ConfigurationError(f"the OTEL_ variables are of no use: {error}") from error


def _send_all(providers: Providers) -> None:
    """Hand over what is left, both signals at once, and wait for both for a bounded time."""
    ends = [provider.shutdown for provider in (providers.tracer, providers.meter) if provider]
    threads = [threading.Thread(target=end, name="caps-otlp", daemon=True) for end in ends]
    for thread in threads:
        thread.start()
    until = time.monotonic() + _LAST_EXPORT_SECONDS
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0))
    if any(thread.is_alive() for thread in threads):
        logger.warning("the collector did not answer within %g seconds", _LAST_EXPORT_SECONDS)
