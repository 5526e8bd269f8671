"""Agents over HTTP: kept as given, checked by the registry, changed at a known version."""

from __future__ import annotations

import uuid
from typing import Any

import httpx2
import pytest

ARRAY = ["test_math", "current_time"]
OBJECT = {"current_time": {}, "test_math": {"tools": ["multiply", "add"], "prefix": "m_"}}


def created(client: httpx2.Client, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/agents", json={"name": "A", **fields})
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/v1/agents/{answer.json()['id']}"
    document: dict[str, Any] = answer.json()
    return document


def test_capabilities_are_listed_as_the_registry_knows_them(client: httpx2.Client) -> None:
    """With the six fields of the specification, and one by its id."""
    listed = client.get("/v1/capabilities").json()
    assert listed["total"] == len(listed["items"])
    fields = {"id", "name", "description", "status", "icon", "category"}
    assert {frozenset(each) for each in listed["items"]} == {frozenset(fields)}
    one = client.get("/v1/capabilities/test_math").json()
    assert (one["id"], len(one["tools"])) == ("test_math", 4)
    answer = client.get("/v1/capabilities/none")
    assert (answer.status_code, answer.json()["code"]) == (404, "capability_unknown")


@pytest.mark.parametrize("given", [ARRAY, OBJECT, [], {}], ids=["array", "object", "[]", "{}"])
def test_capabilities_are_read_back_in_the_form_given(client: httpx2.Client, given: Any) -> None:
    """An array as an array in its order, an object with its entries in theirs."""
    agent = created(client, capabilities=given, system_prompt="Be brief.")
    found = client.get(f"/v1/agents/{agent['id']}").json()
    assert found == agent
    assert found["capabilities"] == given
    assert list(found["capabilities"]) == list(given)


@pytest.mark.parametrize(
    ("fields", "code", "path"),
    [
        ({"capabilities": ["nope"]}, "agent_invalid", "capabilities[0]"),
        (
            {"capabilities": {"test_math": {"tool": []}}},
            "agent_invalid",
            "capabilities.test_math.tool",
        ),
        ({"capabilities": 7}, "agent_invalid", "capabilities"),
        ({"policy": {"alow": []}}, "policy_invalid", None),
        ({"policy": "/etc/passwd"}, "request_invalid", "policy"),
        ({"name": ""}, "request_invalid", "name"),
        ({"name": "a\0b"}, "request_invalid", "name"),
        ({"owner": "root"}, "request_invalid", "owner"),
        ({"principal": "root"}, "request_invalid", "principal"),
    ],
)
def test_what_does_not_fit_is_a_problem_with_its_place(
    client: httpx2.Client, fields: dict[str, Any], code: str, path: str | None
) -> None:
    """And nothing is kept."""
    answer = client.post("/v1/agents", json={"name": "A", **fields})
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert path is None or answer.json()["path"] == path


def test_a_change_needs_the_version_that_it_names(client: httpx2.Client) -> None:
    """The ETag is that of `If-Match`; an old one changes nothing."""
    agent = created(client, capabilities=ARRAY)
    place, old = f"/v1/agents/{agent['id']}", {"If-Match": '"1"'}
    changed = client.patch(place, json={"capabilities": OBJECT}, headers=old)
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert changed.json()["capabilities"] == OBJECT
    assert changed.json()["name"] == "A"
    for answer in (
        client.patch(place, json={"name": "B"}, headers=old),
        client.delete(place, headers=old),
    ):
        assert (answer.status_code, answer.json()["code"]) == (412, "agent_changed")
    assert client.get(place, headers={"If-None-Match": '"2"'}).status_code == 304
    assert client.get(place).json() == changed.json()
    assert client.delete(place, headers={"If-Match": '"2"'}).status_code == 204
    assert client.get(place).status_code == 404


def test_a_repeat_with_the_same_key_creates_nothing(client: httpx2.Client) -> None:
    """Another request with the key is refused, and another principal's key is another key."""
    key = {"Idempotency-Key": str(uuid.uuid4())}
    first = client.post("/v1/agents", json={"name": "once"}, headers=key)
    again = client.post("/v1/agents", json={"name": "once"}, headers=key)
    assert again.json() == first.json()
    assert again.headers["idempotent-replayed"] == "true"
    other = client.post("/v1/agents", json={"name": "twice"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_pages_follow_each_other(client: httpx2.Client) -> None:
    """Every agent is on one page exactly, in the order in which they were made."""
    made = [created(client)["id"] for _ in range(5)]
    found: list[str] = []
    cursor: str | None = None
    while True:
        given = {"limit": "2"} | ({} if cursor is None else {"cursor": cursor})
        page = client.get("/v1/agents", params=given).json()
        found += [each["id"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert [each for each in found if each in made] == made
    assert len(found) == len(set(found))
    assert client.get("/v1/agents", params={"cursor": "abc"}).status_code == 422


def test_the_effective_agent_is_under_the_operator(client: httpx2.Client) -> None:
    """A tool that the operator's policy withholds is not among its tools."""
    agent = created(
        client, capabilities=["test_math", "session_file_system"], system_prompt="Be brief."
    )
    found = client.get(f"/v1/agents/{agent['id']}/effective").json()
    assert found["system_prompt"].endswith("\n\nBe brief.")
    assert {each["function"].partition(".")[0] for each in found["tools"]} == {"math"}
    assert "read_file" in found["withheld"]
    assert "def add" in found["stubs"]
    assert "session_files" not in found["stubs"]
