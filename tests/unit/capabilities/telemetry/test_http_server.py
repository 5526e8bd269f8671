"""The page of metrics, and the small server that offers it."""

from __future__ import annotations

import http.client
import socket
from urllib.parse import urlsplit

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from caps.capabilities.telemetry import Metrics
from caps.capabilities.telemetry.http_server import metrics_server, render_metrics
from caps.protocol.errors import ConfigurationError


@pytest.fixture
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    Metrics(registry).audit_failures.add(())
    return registry


def asked(url: str, method: str = "GET", path: str | None = None) -> tuple[int, bytes]:
    """Status and body of an answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.request(method, path or parts.path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class TestPage:
    def test_it_is_what_prometheus_parses(self, registry: CollectorRegistry) -> None:
        """With the samples as they are now."""
        page = render_metrics(registry)
        families = {f.name: f for f in text_string_to_metric_families(page.body.decode())}
        assert families["caps_audit_failures"].samples[0].value == 1
        assert page.content_type.startswith("text/plain")

    def test_openmetrics_is_there_for_who_asks(self, registry: CollectorRegistry) -> None:
        """By the header of the request."""
        page = render_metrics(registry, "application/openmetrics-text; version=1.0.0")
        assert page.content_type.startswith("application/openmetrics-text")
        assert page.body.endswith(b"# EOF\n")


class TestServer:
    def test_port_zero_is_any_free_one_on_loopback(self, registry: CollectorRegistry) -> None:
        """The URL says which."""
        with metrics_server(registry, 0) as url:
            assert urlsplit(url).hostname == "127.0.0.1"
            status, body = asked(url)
        assert status == 200
        assert b"caps_audit_failures_total 1.0" in body

    def test_nothing_else_is_served(self, registry: CollectorRegistry) -> None:
        """Neither other paths nor other methods."""
        with metrics_server(registry, 0) as url:
            assert asked(url, path="/")[0] == 404
            assert asked(url, method="POST")[0] == 501
            assert asked(url, path="/metrics?name=x")[0] == 200

    def test_a_client_that_says_nothing_holds_nobody_up(self, registry: CollectorRegistry) -> None:
        """Each connection has its own thread."""
        with metrics_server(registry, 0) as url:
            parts = urlsplit(url)
            with socket.create_connection((parts.hostname, parts.port), timeout=10):
                assert asked(url)[0] == 200

    def test_a_port_in_use_is_reported_in_one_line(self, registry: CollectorRegistry) -> None:
        """With what to do about it."""
        with metrics_server(registry, 0) as url:
            port = urlsplit(url).port or 0
            with (
                pytest.raises(ConfigurationError, match="in use; choose another") as refused,
                metrics_server(registry, port),
            ):
                pass
        assert "\n" not in refused.value.message

    def test_the_port_is_free_again_afterwards(self, registry: CollectorRegistry) -> None:
        """Immediately."""
        with metrics_server(registry, 0) as url:
            port = urlsplit(url).port or 0
            asked(url)
        with metrics_server(registry, port) as again:
            assert asked(again)[0] == 200

    @pytest.mark.parametrize(
        ("port", "address"), [(-1, "127.0.0.1"), (65536, "127.0.0.1"), (0, "localhost"), (0, "")]
    )
    def test_what_is_no_address_is_refused(
        self, registry: CollectorRegistry, port: int, address: str
    ) -> None:
        """Host names are not resolved: their addresses may change."""
        with pytest.raises(ConfigurationError), metrics_server(registry, port, address):
            pass

    def test_it_listens_on_ipv6_if_asked_to(self, registry: CollectorRegistry) -> None:
        """The URL has the address in brackets."""
        if not socket.has_ipv6:
            pytest.skip("no IPv6 here")
        try:
            with metrics_server(registry, 0, "::1") as url:
                assert url.startswith("http://[::1]:")
                assert asked(url)[0] == 200
        except ConfigurationError as error:
            pytest.skip(f"no IPv6 loopback here: {error}")
