"""Approvals over HTTP: calls wait in the store, and somebody else answers."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from caps.security.audit import ApprovalSettled, read_records
from support.service_process import ServiceProcess, running_service, wait_until

BODY = {"function": "math.divide", "payload": {"a": 6, "b": 2}}


class Asker:
    """Somebody whose calls wait."""

    def __init__(self, service: ServiceProcess, threads: ThreadPoolExecutor) -> None:
        self.name = f"bob-{uuid.uuid4().hex[:8]}"
        self.client = service.client(sub=self.name, role="runner")
        self._threads = threads

    def call(self) -> Future[dict[str, Any]]:
        def call() -> dict[str, Any]:
            answer: dict[str, Any] = self.client.post("/v1/calls", json=BODY).json()
            return answer

        return self._threads.submit(call)

    def waiting(self, client: httpx2.Client) -> list[dict[str, Any]]:
        items = client.get("/v1/approvals", params={"limit": "200"}).json()["items"]
        return [each for each in items if each["principal"] == self.name]

    def one(self, client: httpx2.Client) -> dict[str, Any]:
        """The one call that waits, once it does."""
        wait_until(lambda: len(self.waiting(client)) == 1)
        return self.waiting(client)[0]


@pytest.fixture
def asker(service: ServiceProcess) -> Iterator[Asker]:
    with ThreadPoolExecutor(4) as threads:
        made = Asker(service, threads)
        yield made
    made.client.close()


def settled(service: ServiceProcess, execution: str) -> list[tuple[str, str | None, str | None]]:
    records = read_records(service.state / "caps/audit", execution_id=execution)
    events = [each.event for each in records]
    return [(e.outcome.value, e.by, e.note) for e in events if isinstance(e, ApprovalSettled)]


def test_an_admin_allows(client: httpx2.Client, service: ServiceProcess, asker: Asker) -> None:
    """The call goes on; the record says who answered, from the token, and why."""
    result = asker.call()
    found = asker.one(client)
    assert (found["capability"], found["rule"]) == ("math.divide", "math.divide")
    place = f"/v1/approvals/{found['id']}"
    answer = client.post(f"{place}/allow", json={"reason": "fine"})
    assert (answer.status_code, answer.json()["by"]) == (200, "ada")
    done = result.result(60)
    assert (done["ok"], done["value"]) == (True, {"result": 3})
    assert settled(service, done["execution_id"]) == [("given", "ada", "fine")]
    assert asker.waiting(client) == []
    late = client.post(f"{place}/deny", json={})
    assert late.status_code in (404, 409)


def test_an_admin_denies(client: httpx2.Client, service: ServiceProcess, asker: Asker) -> None:
    """That is a refusal like any other."""
    result = asker.call()
    place = f"/v1/approvals/{asker.one(client)['id']}"
    assert client.post(f"{place}/deny", json={"reason": "no"}).status_code == 200
    done = result.result(60)
    assert done["error"]["code"] == "policy_denied"
    assert settled(service, done["execution_id"]) == [("denied", "ada", "no")]


def test_nobody_answers_a_request_of_their_own(
    client: httpx2.Client, service: ServiceProcess, asker: Asker
) -> None:
    """Not even with the role for it; others do not see it; the operator's command can answer."""
    result = asker.call()
    found = asker.one(client)
    place = f"/v1/approvals/{found['id']}/allow"
    with service.client(sub=asker.name) as as_admin, service.client(role="publisher") as lower:
        answer = as_admin.post(place, json={})
        assert (answer.status_code, answer.json()["code"]) == (403, "approval_own")
        answer = lower.post(place, json={})
        assert (answer.status_code, answer.json()["code"]) == (403, "role_too_low")
        assert asker.waiting(lower) == []
        assert asker.waiting(asker.client) == [found]
    done = service.caps("approvals", "deny", found["id"])
    assert done.returncode == 0, done.stderr
    assert result.result(60)["ok"] is False


def test_an_answer_can_cover_several_calls(client: httpx2.Client, asker: Asker) -> None:
    """Those of the same principal, for a time."""
    result = asker.call()
    place = f"/v1/approvals/{asker.one(client)['id']}/allow"
    answer = client.post(place, json={"reach": "principal"})
    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")
    covered = {"reach": "principal", "seconds": 600, "calls": 2}
    assert client.post(place, json=covered).status_code == 200
    assert result.result(60)["ok"] is True
    assert asker.call().result(60)["ok"] is True
    third = asker.call()
    place = f"/v1/approvals/{asker.one(client)['id']}/deny"
    assert client.post(place, json={}).status_code == 200
    assert third.result(60)["ok"] is False


def test_pages_follow_each_other(client: httpx2.Client, asker: Asker) -> None:
    """Oldest first, each once."""
    results = [asker.call() for _ in range(3)]
    wait_until(lambda: len(asker.waiting(client)) == 3)
    found: list[str] = []
    cursor: str | None = None
    while True:
        given = {"limit": "1"} | ({} if cursor is None else {"cursor": cursor})
        page = asker.client.get("/v1/approvals", params=given).json()
        found += [each["id"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == [each["id"] for each in asker.waiting(client)]
    assert len(set(found)) == 3
    assert client.get("/v1/approvals", params={"cursor": "abc"}).status_code == 422
    for each in found:
        assert client.post(f"/v1/approvals/{each}/deny", json={}).status_code == 200
    assert {each.result(60)["ok"] for each in results} == {False}


def test_an_unknown_approval(client: httpx2.Client) -> None:
    for approval in ("0" * 32, "x", "../x"):
        answer = client.post(f"/v1/approvals/{approval}/allow", json={})
        assert answer.status_code == 404


def test_another_instance_can_answer(service: ServiceProcess, asker: Asker, tmp_path: Path) -> None:
    """It finds the call in the store that both have."""
    result = asker.call()
    key = {"CAPS_STORE_KEY_FILE": str(service.state / "caps/store.key")}
    url = service.environment["CAPS_DATABASE_URL"]
    with running_service(tmp_path, url, variables=key) as second, second.client() as client:
        place = f"/v1/approvals/{asker.one(client)['id']}/allow"
        assert client.post(place, json={}).status_code == 200
        assert result.result(60)["ok"] is True
