"""Telemetry of commands that run code: metrics at a port, and export by the OTEL_* variables."""

from __future__ import annotations

import logging
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypedDict

import click

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from caps.capabilities.telemetry import Metrics

_REASON_CHARACTERS = 200


class Instruments(TypedDict):
    """The arguments of a `Runtime` for its telemetry."""

    metrics: Metrics
    tracer_provider: TracerProvider | None
    meter_provider: MeterProvider | None


@contextmanager
def telemetry(port: int | None, address: str) -> Iterator[Instruments]:
    """Serve metrics if `port` is given, and export what the variables say.

    Raises ConfigurationError.
    """
    from caps.capabilities.telemetry.otlp_export import exporting

    with ExitStack() as stack:
        if port is not None:
            from prometheus_client import REGISTRY

            from caps.capabilities.telemetry.http_server import metrics_server

            url = stack.enter_context(metrics_server(REGISTRY, port, address))
            click.echo(f"caps: metrics at {url}", err=True)
        stack.enter_context(_report_export_failures())
        providers = stack.enter_context(exporting())
        yield {
            "metrics": _metrics(),
            "tracer_provider": providers.tracer,
            "meter_provider": providers.meter,
        }


def _metrics() -> Metrics:
    """The metrics of the process if anything could read them: a port, or code of the operator."""
    from caps.capabilities.telemetry import Metrics, default_metrics

    return default_metrics() if "prometheus_client" in sys.modules else Metrics(None)


@contextmanager
def _report_export_failures() -> Iterator[None]:
    """Report a failed export once, at the end; the run itself does not fail."""
    failures = _Failures()
    loggers = [logging.getLogger(name) for name in ("opentelemetry", "caps.capabilities.telemetry")]
    for logger in loggers:
        logger.addHandler(failures)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(failures)
        if failures.first is not None:
            reason = textwrap.shorten(failures.first, _REASON_CHARACTERS, placeholder=" …").rstrip(
                "."
            )
            click.echo(f"caps: warning: telemetry was not exported: {reason}", err=True)


class _Failures(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.first: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        self.first = self.first or record.getMessage()
