"""`/healthz`, `/readyz`, `/metrics` and `/openapi.json`."""

from __future__ import annotations

from typing import Any

from caps.client.message import Answer, Request, Route, read_as

ALIVE = Route("GET", "/healthz")
READY = Route("GET", "/readyz")
METRICS = Route("GET", "/metrics")
DESCRIPTION = Route("GET", "/openapi.json")


def check_alive() -> Request[None]:
    """Raise an error unless the process answers."""
    return Request(method=ALIVE.method, path=ALIVE.path(), read=_nothing, is_repeatable=True)


def check_ready() -> Request[None]:
    """Raise ServiceFailedError if the service takes no requests. It is asked once."""
    return Request(method=READY.method, path=READY.path(), read=_nothing)


def get_metrics() -> Request[str]:
    """Prometheus metrics, as text."""
    return Request(method=METRICS.method, path=METRICS.path(), read=_text, is_repeatable=True)


def get_description() -> Request[dict[str, Any]]:
    """The OpenAPI document."""
    read = read_as(dict[str, Any])
    return Request(
        method=DESCRIPTION.method, path=DESCRIPTION.path(), read=read, is_repeatable=True
    )


def _nothing(_answer: Answer) -> None:
    return None


def _text(answer: Answer) -> str:
    return answer.body.decode("utf-8", "replace")
