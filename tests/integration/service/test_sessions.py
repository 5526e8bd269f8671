"""Sessions and their files over HTTP: each use is a call, decided and recorded."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import httpx2
import pytest

from caps.security.audit import read_records
from support.service_process import ServiceProcess, running_service

POLICY = {
    "version": 1,
    "allow": ["session_files.*"],
    "scopes": {"session_files": {"max_file_bytes": 100_000}},
}


@pytest.fixture(scope="module")
def files_service(
    service: ServiceProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServiceProcess]:
    """Another instance on the same store, whose policy allows files."""
    key = {"CAPS_STORE_KEY_FILE": str(service.state / "caps/store.key")}
    assert service.address
    url, state = service.environment["CAPS_DATABASE_URL"], tmp_path_factory.mktemp("files")
    with running_service(state, url, variables=key, policy=POLICY) as made:
        yield made


@pytest.fixture
def owner(files_service: ServiceProcess) -> Iterator[httpx2.Client]:
    name = f"own-{uuid.uuid4().hex[:8]}"
    with files_service.client(sub=name, role="runner") as made:
        yield made


def test_a_file_is_uploaded_changed_and_deleted(
    owner: httpx2.Client, files_service: ServiceProcess
) -> None:
    """At known versions only; each step is on record as a call over HTTP."""
    place, data = "/v1/sessions/work/files/docs/a b.bin", bytes(range(256))
    first = owner.put(place, content=data)
    assert (first.status_code, first.json()["size_bytes"]) == (201, 256)
    got = owner.get(place)
    assert (got.content, got.headers["etag"]) == (data, first.headers["etag"])
    assert owner.put(place, content=b"x").status_code == 409
    assert owner.put(place, content=b"x", headers={"If-None-Match": "*"}).status_code == 412
    assert owner.put(place, content=b"x", headers={"If-Match": '"99"'}).status_code == 412
    second = owner.put(place, content=b"x", headers={"If-Match": first.headers["etag"]})
    assert second.status_code == 200
    listed = owner.get("/v1/sessions/work/files", params={"path": "/docs"}).json()
    assert [each["name"] for each in listed["entries"]] == ["a b.bin"]
    assert owner.delete(place, headers={"If-Match": '"99"'}).status_code == 412
    assert owner.delete(place, headers={"If-Match": second.headers["etag"]}).status_code == 204
    assert owner.get(place).status_code == owner.delete(place).status_code == 404
    events = [each.event for each in read_records(files_service.state / "caps/audit")]
    names = {(getattr(e, "capability", None), getattr(e, "via", None)) for e in events}
    assert ("session_files.write", "http") in names


def test_sessions_are_one_s_own(owner: httpx2.Client, files_service: ServiceProcess) -> None:
    """The same name of another principal is another session, also for an admin."""
    for session in ("one", "two"):
        assert owner.put(f"/v1/sessions/{session}/files/a", content=b"1").status_code == 201
    page = owner.get("/v1/sessions", params={"limit": "1"}).json()
    rest = owner.get("/v1/sessions", params={"cursor": page["next_cursor"]}).json()
    found = [each["name"] for each in (*page["items"], *rest["items"])]
    assert found == ["one", "two"]
    with files_service.client() as admin:
        assert admin.get("/v1/sessions/one/files/a").status_code == 404


def test_policy_and_quota_hold(owner: httpx2.Client, client: httpx2.Client) -> None:
    answer = client.put("/v1/sessions/s/files/a", content=b"x")
    assert (answer.status_code, answer.json()["code"]) == (403, "policy_denied")
    answer = owner.put("/v1/sessions/s/files/a", content=b"x" * 100_001)
    assert answer.status_code in (403, 409, 422)
    assert owner.get("/v1/sessions/s/files/../../x").status_code in (404, 409)
