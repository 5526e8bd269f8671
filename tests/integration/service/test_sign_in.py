"""Every route asks who it is: no token, a bad one, or too low a role gets nothing."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from caps.service.app import ROUTERS
from caps.service.secured_route import SecuredRoute
from support.service_process import ServiceProcess, claims, token

PUBLIC = {"/healthz", "/readyz", "/openapi.json"}
LOWER = {"viewer": None, "runner": "viewer", "publisher": "runner", "admin": "publisher"}


def unsigned() -> str:
    parts = [{"alg": "none", "typ": "JWT"}, claims()]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts]
    return b".".join(encoded).decode() + "."


BAD_TOKENS: dict[str, Callable[[], str]] = {
    "expired": lambda: token(exp=int(time.time()) - 60),
    "signed by another": lambda: token(secret="another secret, which is long enough too"),
    "alg none": unsigned,
    "another algorithm": lambda: token(algorithm="HS512", secret="x" * 64),
    "another issuer": lambda: token(iss="mallory"),
    "another audience": lambda: token(aud="others"),
    "no expiry": lambda: token(exp=None),
    "no issuer": lambda: token(iss=None),
    "no audience": lambda: token(aud=None),
    "no role": lambda: token(role=None),
    "unknown role": lambda: token(role="root"),
    "role of no token": lambda: token(role="public"),
    "no principal": lambda: token(sub=None),
    "principal with a line break": lambda: token(sub="ada\nroot"),
    "not a token": lambda: "e30.e30.e30",
    "a word": lambda: "x",
}


def routes() -> Iterator[tuple[str, str, str]]:
    """Method, path and role of every route that the application has."""
    for router in ROUTERS:
        for route in router.routes:
            assert isinstance(route, SecuredRoute)
            for method in sorted(route.methods or ()):
                yield method, re.sub(r"\{[^}]*\}", "0" * 32, route.path), route.role.word


def test_every_route_is_described(client: httpx2.Client) -> None:
    """So that a client, and a test that reads the description, misses none."""
    document: dict[str, Any] = client.get("/openapi.json").json()
    described = {
        (method.upper(), re.sub(r"\{[^}]*\}", "0" * 32, path), operation["x-caps-role"])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    assert described == set(routes())


def test_only_three_routes_are_public() -> None:
    """Whoever adds one declares it so."""
    assert {path for _, path, role in routes() if role == "public"} == PUBLIC


def test_no_route_answers_without_a_good_token(service: ServiceProcess) -> None:
    """Each bad token is refused by each route, with a problem that says no more than that."""
    with httpx2.Client(base_url=service.address) as nobody:
        for method, path, role in routes():
            if role == "public":
                continue
            for name, make in BAD_TOKENS.items():
                headers = {"Authorization": f"Bearer {make()}"}
                answer = nobody.request(method, path, headers=headers)
                assert answer.status_code == 401, (method, path, name)
                assert answer.json()["code"] in ("token_invalid", "token_expired")
            answer = nobody.request(method, path)
            assert (answer.status_code, answer.json()["code"]) == (401, "token_missing")
            assert answer.headers["www-authenticate"] == "Bearer"


def test_no_route_answers_with_too_low_a_role(
    service: ServiceProcess, client: httpx2.Client
) -> None:
    """The role beneath the one that a route needs is not enough."""
    for method, path, role in routes():
        lower = LOWER.get(role)
        if lower is None:
            continue
        headers = {"Authorization": f"Bearer {token(role=lower)}"}
        answer = client.request(method, path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "role_too_low"), (method, path)


def test_two_authorization_headers_are_refused(
    service: ServiceProcess, client: httpx2.Client
) -> None:
    """Nobody can tell which one counts."""
    headers = [("Authorization", f"Bearer {token()}"), ("Authorization", f"Bearer {token()}")]
    answer = httpx2.get(f"{service.address}/v1/agents", headers=headers)
    assert answer.status_code == 401


def test_the_log_has_no_token_and_no_query(service: ServiceProcess, client: httpx2.Client) -> None:
    """A request log is read by more people than may sign in."""
    client.get("/v1/agents", params={"cursor": "c0ffee00-0000-7000-8000-000000000000"})
    assert client.get("/v1/agents").status_code == 200
    text = "".join(service.log)
    assert "c0ffee00" not in text
    assert client.headers["authorization"].removeprefix("Bearer ") not in text


@pytest.mark.parametrize("body", [b"{", b"[" * 50_000, b'{"name": NaN}', b'{"name": "\\ud800"}'])
def test_a_body_that_is_not_json_is_a_problem(client: httpx2.Client, body: bytes) -> None:
    """Also one that only some readers take for JSON."""
    headers = {"Content-Type": "application/json"}
    answer = client.post("/v1/agents", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "json_invalid")
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_over_the_limit_is_refused(client: httpx2.Client) -> None:
    """With its length announced, and without."""
    big = b'"' + b"x" * (9 * 1024 * 1024) + b'"'
    headers = {"Content-Type": "application/json"}
    answer = client.post("/v1/agents", content=big, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    pieces = (big[at : at + 65536] for at in range(0, len(big), 65536))
    answer = client.post("/v1/agents", content=pieces, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
