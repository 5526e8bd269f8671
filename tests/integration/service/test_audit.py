"""The audit log over HTTP: one's own records, or all for an admin; filters, pages, verification."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx2
import pytest

from support.service_process import ServiceProcess


def all_pages(client: httpx2.Client, **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        given = params | ({} if cursor is None else {"cursor": cursor})
        answer = client.get("/v1/audit", params=given)
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return found


def test_everybody_finds_their_own_records(client: httpx2.Client, service: ServiceProcess) -> None:
    """And no others, whatever they ask for; the hints for operators are left out."""
    name = f"eve-{uuid.uuid4().hex[:8]}"
    with service.client(sub=name, role="runner") as eve:
        for function in ("math.add", "files.read"):
            body = {"function": function, "payload": {"a": 1, "b": 2}}
            assert eve.post("/v1/calls", json=body).status_code == 200
        own = all_pages(eve)
        assert {each["principal"] for each in own} == {name}
        assert [each["decision"] for each in own if each["kind"] == "decision_made"] == [
            "allow",
            "deny",
        ]
        answer = eve.get("/v1/audit", params={"principal": "ada"})
        assert (answer.status_code, answer.json()["code"]) == (403, "role_too_low")
        assert not any("nearest" in each for each in own)
        assert all_pages(eve, limit=1) == own
    found = all_pages(client, principal=name, limit=200)
    assert [each["hash"] for each in found] == [each["hash"] for each in own]
    assert any("nearest" in each for each in found)


def test_filters_are_those_of_the_command(client: httpx2.Client, service: ServiceProcess) -> None:
    """With the same records, in the same order."""
    body = {"function": "math.add", "payload": {"a": 1, "b": 2}}
    done = client.post("/v1/calls", json=body).json()
    of_one = {"execution": done["execution_id"]}
    expected = service.caps("audit", "query", "--json", "--execution", of_one["execution"])
    assert all_pages(client, **of_one) == [json.loads(e) for e in expected.stdout.splitlines()]
    kinds = {"kind": ["outcome_recorded", "policy_loaded"], "since": "1h"}
    assert {each["kind"] for each in all_pages(client, **kinds)} == set(kinds["kind"])
    assert all_pages(client, **of_one, decision="deny") == []


@pytest.mark.parametrize(
    "params",
    [
        {"kind": "none"},
        {"since": "yesterday"},
        {"capability": "*"},
        {"value_hash": "x"},
        {"cursor": "1-3"},
        {"cursor": "abc"},
        {"cursor": "-"},
        {"cursor": "1--1"},
        {"decision": "maybe"},
    ],
)
def test_what_cannot_match_is_a_problem(client: httpx2.Client, params: dict[str, str]) -> None:
    assert client.get("/v1/audit", params=params).status_code == 422


def test_the_log_is_verified(client: httpx2.Client) -> None:
    found = client.post("/v1/audit/verify").json()
    assert (found["status"], found["records"] > 0) == ("ok", True)
