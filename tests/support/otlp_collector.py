"""An OTLP collector on the loopback interface that decodes what it receives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Collector:
    """What has arrived so far."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.spans: list[Span] = []
        self.metrics: list[Metric] = []
        self.services: set[str] = set()
        self.headers: list[dict[str, str]] = []

    def span(self, name: str) -> Span:
        (found,) = (span for span in self.spans if span.name == name)
        return found

    def take(self, path: str, body: bytes) -> None:
        """Decode one request; raises if it is not valid OTLP."""
        if path == "/v1/traces":
            for part in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.services.add(plain(part.resource.attributes)["service.name"])
                self.spans += [span for scope in part.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            for piece in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.services.add(plain(piece.resource.attributes)["service.name"])
                self.metrics += [m for scope in piece.scope_metrics for m in scope.metrics]
        else:
            raise ValueError(path)


def plain(attributes: Any) -> dict[str, str]:
    """Attributes whose values are strings."""
    pairs: list[KeyValue] = list(attributes)
    return {pair.key: pair.value.string_value for pair in pairs}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that listens until exit."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            collector.headers.append(dict(self.headers))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Collector(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
