"""Tool cards over HTTP: signed, never changed, and in force as soon as they are published."""

from __future__ import annotations

import functools
import json
import sqlite3
import threading
import uuid
from pathlib import Path
from typing import Any

import httpx2
import pytest

from caps.agents.tool_cards.startup import card_for
from caps.security.audit import AdminAction, AuditRecord, read_records
from support.card_examples import card_with
from support.service_process import ServiceProcess, running_service, wait_until
from support.stock_registry import registry

TESTS = Path(__file__).parents[2]
JSON = {"Content-Type": "application/json"}


def new_card(**changed: Any) -> dict[str, Any]:
    return card_with(name=f"shop.t{uuid.uuid4().hex[:12]}", **changed)


def publish(client: httpx2.Client, card: Any, path: str = "/v1/tools") -> httpx2.Response:
    return client.post(path, json={"tool_card": card})


def actions(service: ServiceProcess, subject: str) -> list[AdminAction]:
    found: list[AuditRecord] = list(read_records(service.state / "caps/audit"))
    events = [each.event for each in found]
    return [each for each in events if isinstance(each, AdminAction) and subject in each.subject]


@pytest.mark.parametrize("path", ["/v1/tools", "/api/tools"])
def test_a_card_is_signed_kept_and_recorded(
    client: httpx2.Client, service: ServiceProcess, path: str
) -> None:
    """The same card again changes nothing; both are on record, with who did it."""
    card = new_card()
    first = publish(client, card, path)
    assert (first.status_code, first.json() | card) == (201, first.json())
    again = publish(client, first.json(), path)
    assert (again.status_code, again.json()) == (200, first.json())
    found = client.get(first.headers["location"]).json()
    assert found | first.json() == found
    assert found["problem"] is None
    assert client.get(f"/v1/tools/{card['name']}").json() == found
    done = actions(service, card["name"])
    assert [each.status for each in done] == ["begun", "done", "begun", "done"]
    assert {(each.principal, each.via, each.sha256) for each in done} == {
        ("ada", "http", found["checksum"])
    }


def test_other_content_and_stale_evidence_are_refused(client: httpx2.Client) -> None:
    """409 for another card of the name and version; 400 for what was edited after signing."""
    signed = publish(client, new_card()).json()
    plain = {name: signed[name] for name in card_with()}
    answer = publish(client, plain | {"description": "edited"})
    assert (answer.status_code, answer.json()["code"]) == (409, "tool_card_conflict")
    for name, value in (("description", "x"), ("checksum", "0" * 64), ("signature", "0" * 64)):
        answer = publish(client, signed | {name: value})
        assert (answer.status_code, answer.json()["code"]) == (400, "checksum_mismatch")
        assert answer.json()["detail"].startswith("checksum mismatch")


DEEP: dict[str, Any] = {
    "$defs": {
        "a": {"type": "object", "properties": {"x": {"type": "string"}}},
        **{
            f"d{depth}": {
                "allOf": [{"$ref": f"#/$defs/{'a' if depth == 0 else f'd{depth - 1}'}"}] * 8
            }
            for depth in range(6)
        },
    },
    "$ref": "#/$defs/d5",
}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "json_invalid"),
        (b"\xff", 400, "json_invalid"),
        (b'{"tool_card": {}, "tool_card": {}}', 400, "json_invalid"),
        (b'{"tool_card": {"name": "a.b", "name": "a.c"}}', 400, "json_invalid"),
        (b'{"tool_card": NaN}', 422, "request_invalid"),
        (b'{"tool_card": []}', 422, "request_invalid"),
        (b'{"tool_card": {}, "more": 1}', 422, "request_invalid"),
        (b"[]", 422, "request_invalid"),
        (b'{"tool_card": {}}', 422, "tool_card_invalid"),
        (
            json.dumps({"tool_card": new_card(cost_estimate=2**60)}).encode(),
            422,
            "tool_card_invalid",
        ),
        (b'{"tool_card": ' + b"[" * 100_000, 400, "json_invalid"),
        (b'{"tool_card": "' + b"x" * 300_000 + b'"}', 413, "body_too_large"),
        (
            json.dumps(
                {"tool_card": new_card(input_schema={"$ref": "http://127.0.0.1:9/x.json"})}
            ).encode(),
            422,
            "tool_card_invalid",
        ),
        (
            json.dumps({"tool_card": new_card(input_schema=DEEP)}).encode(),
            422,
            "tool_card_invalid",
        ),
    ],
    ids=range(14),
)
def test_what_cannot_be_signed_is_refused(
    client: httpx2.Client, body: bytes, status: int, code: str
) -> None:
    """Repeated keys, numbers that readers round, foreign references, schemas that explode."""
    answer = client.post("/v1/tools", content=body, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


def test_pages_have_every_card_once(client: httpx2.Client) -> None:
    """The cards of what comes with Caps are among them."""
    card = new_card()
    publish(client, card)
    found: list[str] = []
    cursor: str | None = None
    while True:
        given = {"limit": "20"} | ({} if cursor is None else {"cursor": cursor})
        page = client.get("/api/tools", params=given).json()
        found += [f"{each['name']} {each['version']}" for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == sorted(set(found))
    assert f"{card['name']} 1.0.0" in found
    assert any(each.startswith("files.read ") for each in found)
    for bad in ("zz", "ff", "61"):
        assert client.get("/v1/tools", params={"cursor": bad}).status_code == 422


def test_an_unknown_card(client: httpx2.Client) -> None:
    for path in ("/v1/tools/none", "/v1/tools/files.read/0"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "tool_card_unknown")


def test_a_key_of_another_request_is_refused(client: httpx2.Client) -> None:
    """And then the card is not published."""
    key = {"Idempotency-Key": str(uuid.uuid4())}
    first, second = new_card(), new_card()
    for _ in range(2):
        answer = client.post("/v1/tools", json={"tool_card": first}, headers=key)
        assert answer.status_code in (200, 201)
    answer = client.post("/v1/tools", json={"tool_card": second}, headers=key)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")
    assert client.get(f"/v1/tools/{second['name']}").status_code == 404


def test_a_drifted_function_is_refused_until_a_card_describes_it(tmp_path: Path) -> None:
    """Without a restart, whether the card is published here or by a command."""
    spec = registry.capabilities["stock.lookup"].spec
    fields = card_for(spec, "2.0.0").__struct_fields__
    right = {name: getattr(card_for(spec, "2.0.0"), name) for name in fields}
    wrong = right | {"version": "1.0.0", "input_schema": {"type": "object"}}
    with (
        running_service(
            tmp_path,
            f"sqlite:///{tmp_path}/caps.db",
            "--registry",
            "support.stock_registry:registry",
            policy={"version": 1, "allow": ["stock.*"]},
            variables={"PYTHONPATH": str(TESTS)},
        ) as service,
        service.client() as client,
    ):
        body = {"function": "stock.lookup", "payload": {"sku": "abc"}}

        def call() -> dict[str, Any]:
            answer: dict[str, Any] = client.post("/v1/calls", json=body).json()
            return answer

        assert call()["value"] == 3  # it never had a card
        assert publish(client, wrong).status_code == 201
        refused = call()
        assert refused["error"]["code"] == "policy_denied"
        records = read_records(
            service.state / "caps/audit", execution_id=str(refused["execution_id"])
        )
        reasons = {getattr(each.event, "reason", None) for each in records}
        assert "tool_card_invalid" in reasons
        (tmp_path / "card.json").write_text(json.dumps(right))
        done = service.caps("tools", "publish", "--file", str(tmp_path / "card.json"))
        assert done.returncode == 0, done.stderr
        wait_until(lambda: call().get("ok") is True)
        (key,) = json.loads(service.caps("keys", "list", "--json").stdout)
        assert service.caps("keys", "revoke", key["id"]).returncode == 0
        wait_until(lambda: call().get("ok") is False)
        revoked = actions(service, key["id"])
        assert [(each.action, each.status) for each in revoked] == [
            ("signing_key_activate", "done"),
            ("signing_key_revoke", "begun"),
            ("signing_key_revoke", "done"),
        ]


def test_a_changed_row_refuses_to_start(tmp_path: Path) -> None:
    """Or is in quarantine, if the operator says so."""
    url = f"sqlite:///{tmp_path}/caps.db"
    with running_service(tmp_path, url) as service:
        assert service.address
    with sqlite3.connect(tmp_path / "caps.db") as database:
        database.execute("UPDATE tool_registry SET description = 'x' WHERE name = 'math.add'")
    database.close()
    with running_service(tmp_path, url) as service:
        assert service.process.wait(60) == 2
        service.end()
        assert "`math.add`" in "".join(service.log)
    quarantine = {"CAPS_CAPABILITY_CARDS": "quarantine"}
    with (
        running_service(tmp_path, url, variables=quarantine) as service,
        service.client() as client,
    ):
        refused, allowed = (
            client.post("/v1/calls", json={"function": name, "payload": {"a": 2, "b": 1}})
            for name in ("math.add", "math.subtract")
        )
        assert (refused.json()["ok"], allowed.json()["ok"]) == (False, True)


def test_keys_rotate_while_requests_run(client: httpx2.Client, service: ServiceProcess) -> None:
    """Nothing fails: neither calls, nor publishing, nor reading, and every card is valid."""
    stop, rounds = threading.Event(), [0, 0]
    failures: list[httpx2.Response] = []

    def work(number: int) -> None:
        with service.client(sub=f"load-{number}") as own:
            while not stop.is_set():
                card = new_card()
                answers = [
                    publish(own, card),
                    own.get(f"/v1/tools/{card['name']}"),
                    own.post(
                        "/v1/calls", json={"function": "math.add", "payload": {"a": 1, "b": 1}}
                    ),
                ]
                if answers[1].json().get("problem") is not None or not answers[2].json().get("ok"):
                    failures.extend(answers)
                failures.extend(each for each in answers if each.status_code not in (200, 201))
                rounds[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for each in threads:
        each.start()
    try:
        for alg in ("hmac-sha256", "ed25519"):
            before = list(rounds)
            listed = json.loads(service.caps("keys", "list", "--json").stdout)
            old = next(each["id"] for each in listed if each["state"] == "active")
            for command in (
                ("keys", "rotate", "--alg", alg),
                ("tools", "resign"),
                ("keys", "revoke", old),
            ):
                done = service.caps(*command)
                assert done.returncode == 0, done.stderr
            wait_until(functools.partial(all_went_on, rounds, before))
    finally:
        stop.set()
        for each in threads:
            each.join(60)
    assert not failures, [(each.status_code, each.text) for each in failures[:3]]
    assert service.caps("tools", "verify").returncode == 0


def all_went_on(now: list[int], before: list[int]) -> bool:
    return all(after > then for after, then in zip(now, before, strict=True))
