"""Executions and calls over HTTP: as the token's principal, under the operator's policy."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx2

from caps.security.audit import read_records
from support.service_process import ServiceProcess

SLOW = "import asyncio\nprint('begun')\nawait asyncio.sleep(50)"


def run(client: httpx2.Client, code: str, **fields: Any) -> dict[str, Any]:
    answer = client.post("/v1/executions", json={"code": code, **fields})
    assert answer.status_code in (201, 202), answer.text
    document: dict[str, Any] = answer.json()
    return document


def agent(client: httpx2.Client, **fields: Any) -> str:
    answer = client.post("/v1/agents", json={"name": "A", **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def events(client: httpx2.Client, execution: str, after: int | None = None) -> list[Any]:
    """Number, kind and data of each event, until the last one."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    text = client.get(f"/v1/executions/{execution}/events", headers=headers).text
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line[:1] != ":")
        if fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


def test_code_runs_with_inputs_and_its_result_comes_back(client: httpx2.Client) -> None:
    """With what it printed, and the decisions."""
    done = run(client, "print(n)\n(await caps.math.add(a=n, b=1))['result']", inputs={"n": 4})
    assert (done["status"], done["principal"]) == ("finished", "ada")
    assert (done["result"]["value"], done["result"]["stdout"]) == (5, "4\n")
    assert [each["capability"] for each in done["result"]["decisions"]] == ["math.add"]
    assert client.get(f"/v1/executions/{done['id']}").json() == done


def test_an_agent_has_what_it_was_given_and_no_more(
    client: httpx2.Client, service: ServiceProcess
) -> None:
    """Its policy lies beneath the operator's, and that of the request beneath both."""
    code = "names = [n for n in ('add', 'multiply') if hasattr(caps.math, n)]\nnames"
    one = agent(client, capabilities={"test_math": {"tools": ["add"]}})
    assert run(client, code, agent_id=one)["result"]["value"] == ["add"]
    narrower = {"version": 1, "id": "mine", "allow": ["math.multiply"]}
    assert run(client, code, policy=narrower)["result"]["value"] == ["multiply"]
    done = run(client, "hasattr(caps, 'math')", agent_id=one, policy=narrower)
    assert done["result"]["value"] is False
    wider = {"version": 1, "id": "mine", "allow": ["session_files.*"]}
    done = run(client, "hasattr(caps, 'session_files')", policy=wider)
    assert done["result"]["value"] is False
    records = read_records(service.state / "caps/audit", execution_id=done["id"])
    assert {getattr(each.event, "principal", None) for each in records} == {"ada"}


def test_the_body_cannot_say_who_asks(client: httpx2.Client) -> None:
    """The principal is that of the token, the agent that of the store."""
    for fields in ({"principal": "root"}, {"agent": "root"}, {"replace": True}):
        answer = client.post("/v1/executions", json={"code": "1", **fields})
        assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")
    answer = client.post("/v1/executions", json={"code": "1", "agent_id": str(uuid.uuid4())})
    assert (answer.status_code, answer.json()["code"]) == (404, "agent_unknown")


def test_events_can_be_followed_from_any_point(client: httpx2.Client) -> None:
    """Output, decisions and the result, each with a number; a reader goes on after its last."""
    begun = run(client, "print('a')\nawait caps.math.add(a=1, b=2)\nprint('b')", wait=False)
    found = events(client, begun["id"])
    assert [number for number, _, _ in found] == list(range(1, len(found) + 1))
    kinds = [kind for _, kind, _ in found]
    assert (kinds[0], kinds[-1], kinds.count("decision")) == ("started", "finished", 1)
    text = "".join(data["text"] for _, kind, data in found if kind == "output")
    assert text == "a\nb\n"
    assert found[-1][2]["result"]["ok"] is True
    assert events(client, begun["id"], after=2) == found[2:]


def test_an_execution_can_be_cancelled(client: httpx2.Client) -> None:
    """While it runs; later that changes nothing."""
    begun = run(client, SLOW, wait=False)
    with client.stream("GET", f"/v1/executions/{begun['id']}/events") as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if "begun" in line)
    for _ in range(2):
        ended = client.post(f"/v1/executions/{begun['id']}/cancel").json()
        assert (ended["status"], ended["started"]) == ("cancelled", True)
    assert events(client, begun["id"])[-1][2]["error"]["code"] == "cancelled"


def test_nobody_finds_the_execution_of_another(
    client: httpx2.Client, service: ServiceProcess
) -> None:
    """But an admin does."""
    done = run(client, "1")
    with service.client(sub="eve", role="publisher") as eve:
        for method, place in (("GET", ""), ("GET", "/events"), ("POST", "/cancel")):
            answer = eve.request(method, f"/v1/executions/{done['id']}{place}")
            assert (answer.status_code, answer.json()["code"]) == (404, "execution_unknown")
        assert eve.get("/v1/executions").json()["items"] == []
        own = run(eve, "2")
    assert client.get(f"/v1/executions/{own['id']}").json()["principal"] == "eve"


def test_a_repeated_request_runs_once(client: httpx2.Client) -> None:
    """The repeat gets the execution of the first."""
    key = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"code": "import random\nrandom.random()"}
    first = client.post("/v1/executions", json=body, headers=key)
    again = client.post("/v1/executions", json=body, headers=key)
    assert again.json() == first.json()
    assert again.headers["idempotent-replayed"] == "true"


def test_a_call_is_decided_and_recorded(client: httpx2.Client, service: ServiceProcess) -> None:
    """A refusal is a result; the record says that it came over HTTP."""
    done = client.post("/v1/calls", json={"function": "math.add", "payload": {"a": 1, "b": 2}})
    assert (done.json()["ok"], done.json()["value"]) == (True, {"result": 3})
    refused = client.post("/v1/calls", json={"function": "files.read", "payload": {"path": "x"}})
    assert refused.status_code == 200
    assert refused.json()["error"]["code"] == "policy_denied"
    found = read_records(service.state / "caps/audit", execution_id=refused.json()["execution_id"])
    ways = {each.event.via for each in found if hasattr(each.event, "via")}
    assert ways == {"http"}


def test_metrics_and_health(client: httpx2.Client) -> None:
    """Metrics are for those who may sign in."""
    assert client.get("/healthz").json() == client.get("/readyz").json() == {"status": "ok"}
    run(client, "1")
    assert "caps_executions_total" in client.get("/metrics").text


def test_events_after_the_last_one_are_none(client: httpx2.Client) -> None:
    """A reader that has everything is not kept waiting for more."""
    execution = client.post("/v1/executions", json={"code": "print(7)"}).json()["id"]
    place = f"/v1/executions/{execution}/events"
    numbers = [line for line in client.get(place).text.splitlines() if line.startswith("id: ")]
    last = numbers[-1].removeprefix("id: ")
    answer = client.get(place, headers={"Last-Event-ID": last})
    assert (answer.status_code, answer.text) == (200, "")
