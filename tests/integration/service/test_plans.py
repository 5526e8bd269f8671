"""Plans over HTTP: checked as a whole, run as executions, under the operator's policy."""

from __future__ import annotations

import json
import signal
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from caps.security.audit import DecisionMade, read_records
from support.service_process import ServiceProcess, running_service

ROOT = Path(__file__).parents[3]


def step(id_: str, tool: str, /, **inputs: Any) -> dict[str, Any]:
    return {"id": id_, "tool": tool, "inputs": inputs}


def plan(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": 1, "id": "p", "steps": list(steps), **more}


SUM = plan(
    step("first", "math.add", a=1, b=2),
    step("second", "test_math.multiply", a={"$from": "first", "at": "/result"}, b=10),
)
WRONG = plan(
    step("a", "math.ad", a=1, b=2),
    step("b", "math.add", a="x", b={"$from": "c"}),
    step("c", "files.read", path="x"),
)


def problems(document: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(each["step"], each["code"], each["path"]) for each in document["problems"]]


def test_a_plan_is_checked_and_all_problems_are_listed(client: httpx2.Client) -> None:
    """Each with its step and its place; nothing of it runs."""
    fine = client.post("/v1/plans/validate", json={"plan": SUM})
    assert (fine.status_code, fine.json()["valid"], fine.json()["problems"]) == (200, True, [])
    found = client.post("/v1/plans/validate", json={"plan": WRONG}).json()
    assert found["valid"] is False
    assert problems(found) == [
        ("a", "tool_unknown", "steps[0].tool"),
        ("b", "step_later", 'steps[1].inputs.b["$from"]'),
        ("b", "input_invalid", "steps[1].inputs.a"),
        ("c", "side_effect_forbidden", "steps[2]"),
    ]
    form = client.post("/v1/plans/validate", json={"plan": {"version": 2, "steps": [7]}}).json()
    assert (form["valid"], [each["path"] for each in form["problems"]]) == (
        False,
        ["version", "id", "steps[0]"],
    )


def test_a_valid_plan_runs_as_an_execution(client: httpx2.Client, service: ServiceProcess) -> None:
    """It is kept, with its events; the records name plan, step and principal."""
    answer = client.post("/v1/plans/run", json={"plan": SUM})
    assert answer.status_code == 201, answer.text
    done = answer.json()
    assert answer.headers["location"] == f"/v1/executions/{done['id']}"
    assert (done["status"], done["started"], done["principal"]) == ("finished", True, "ada")
    assert (done["result"]["ok"], done["result"]["value"]) == (True, {"result": 30})
    assert [each["status"] for each in done["result"]["steps"]] == ["succeeded", "succeeded"]
    assert client.get(f"/v1/executions/{done['id']}").json() == done
    text = client.get(f"/v1/executions/{done['id']}/events").text
    kinds = [line[7:] for line in text.splitlines() if line.startswith("event: ")]
    assert kinds == ["started", "decision", "step", "decision", "step", "finished"]
    decided = [
        each.event
        for each in read_records(service.state / "caps/audit", execution_id=done["id"])
        if isinstance(each.event, DecisionMade)
    ]
    assert [(each.request_id, each.principal, each.via) for each in decided] == [
        ("p/first", "ada", "http"),
        ("p/second", "ada", "http"),
    ]


def test_a_plan_with_errors_is_refused_and_nothing_is_kept(client: httpx2.Client) -> None:
    """The problem document lists all of them."""
    before = client.get("/v1/executions").json()["items"]
    answer = client.post("/v1/plans/run", json={"plan": WRONG})
    document = answer.json()
    assert (answer.status_code, document["code"]) == (422, "plan_invalid")
    assert (document["path"], len(document["problems"])) == ("steps[0].tool", 4)
    assert client.get("/v1/executions").json()["items"] == before


def test_a_step_that_fails_stops_the_plan(client: httpx2.Client) -> None:
    """The execution is finished, and its result says how far it came."""
    failing = plan(step("a", "time.now", timezone="Nowhere/Land"), step("b", "math.add", a=1, b=2))
    done = client.post("/v1/plans/run", json={"plan": failing}).json()
    assert (done["status"], done["result"]["ok"]) == ("finished", False)
    assert [each["status"] for each in done["result"]["steps"]] == ["failed", "not_run"]
    assert "Nowhere/Land" in done["result"]["steps"][0]["error"]["message"]


def test_agents_and_policies_of_plans_can_only_take_away(client: httpx2.Client) -> None:
    """A plan cannot grant itself anything."""
    made = client.post("/v1/agents", json={"name": "A", "capabilities": ["current_time"]}).json()
    refused = client.post("/v1/plans/run", json={"plan": SUM, "agent_id": made["id"]})
    assert {each["code"] for each in refused.json()["problems"]} == {"not_granted"}
    own = {"version": 1, "id": "own", "allow": ["math.add"]}
    narrow = client.post("/v1/plans/validate", json={"plan": {**SUM, "policy": own}}).json()
    assert problems(narrow) == [("second", "not_granted", "steps[1]")]
    wide = {"version": 1, "id": "own", "allow": ["session_files.*"]}
    files = plan(step("a", "session_files.list"), policy=wide)
    found = client.post("/v1/plans/validate", json={"plan": files}).json()
    assert found["valid"] is False
    invalid = {**SUM, "policy": {"version": 1, "allow": ["math.nothing"]}}
    answer = client.post("/v1/plans/validate", json={"plan": invalid})
    assert (answer.status_code, answer.json()["code"]) == (422, "policy_invalid")


def test_a_repeated_run_runs_once(client: httpx2.Client) -> None:
    """The key finds the first execution; another plan under it is refused."""
    key = {"Idempotency-Key": str(uuid.uuid4())}
    now = plan(step("now", "time.now"))
    first = client.post("/v1/plans/run", json={"plan": now}, headers=key)
    again = client.post("/v1/plans/run", json={"plan": now}, headers=key)
    assert again.json() == first.json()
    assert again.headers["idempotent-replayed"] == "true"
    other = client.post("/v1/plans/run", json={"plan": SUM}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


def test_many_plans_at_the_same_time(client: httpx2.Client) -> None:
    """Each gets its own result."""

    def run(number: int) -> Any:
        given = plan(
            step("a", "math.add", a=number, b=1),
            step("b", "math.add", a={"$from": "a", "at": "/result"}, b=1),
        )
        return client.post("/v1/plans/run", json={"plan": given}).json()["result"]["value"]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(24))) == [{"result": n + 2} for n in range(24)]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"plan": {"version": 1, "version": 1}}', 400, "json_invalid"),
        (b'{"plan": ' + b"[" * 5000 + b"]" * 5000 + b"}", 400, "json_invalid"),
        (b'{"plan": []}', 422, "request_invalid"),
        (b'{"plan": {}, "principal": "root"}', 422, "request_invalid"),
        (b"{}", 422, "request_invalid"),
        (b'{"plan": {"id": "' + b"x" * 1_100_000 + b'"}}', 413, "body_too_large"),
    ],
)
def test_bad_input_is_a_problem(client: httpx2.Client, body: bytes, status: int, code: str) -> None:
    """On both routes, and never a failure of the service."""
    for place in ("validate", "run"):
        headers = {"Content-Type": "application/json"}
        answer = client.post(f"/v1/plans/{place}", content=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


def test_roles(service: ServiceProcess) -> None:
    """A viewer may check, and a runner may run."""
    with service.client(role="viewer") as viewer:
        assert viewer.post("/v1/plans/validate", json={"plan": SUM}).status_code == 200
        assert viewer.post("/v1/plans/run", json={"plan": SUM}).status_code == 403
    with service.client(sub="bob", role="runner") as runner:
        assert runner.post("/v1/plans/run", json={"plan": SUM}).json()["principal"] == "bob"


# -- a service with tool cards ------------------------------------------------------------------

COSTS = {"math.add": 0.5, "math.multiply": 0.25}
CARDED_POLICY = {
    "version": 1,
    "id": "operator",
    "allow": ["math.*", "sandbox.execute_code"],
    "limits": {"wall_ms": 60_000},
}


@pytest.fixture(scope="module")
def carded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """Whose cards say what `math.add` and `math.multiply` cost."""
    state = tmp_path_factory.mktemp("service-with-cards")
    variables = {"CAPS_CAPABILITY_CARDS": "quarantine"}
    options: dict[str, Any] = {"policy": CARDED_POLICY, "variables": variables}
    with running_service(state, f"sqlite:///{state}/caps.db", **options) as first:
        assert first.address  # the cards of built-in functions are there now
        for name, cost in COSTS.items():
            draft = first.caps("tools", "draft", name, "--version", "9.0.0")
            card = {**json.loads(draft.stdout), "cost_estimate": cost}
            (state / "card.json").write_text(json.dumps(card))
            published = first.caps("tools", "publish", "--file", str(state / "card.json"))
            assert published.returncode == 0, published.stderr
    with running_service(state, f"sqlite:///{state}/caps.db", **options) as second:
        yield second


def test_costs_of_cards_are_held_to_the_budget(carded: ServiceProcess) -> None:
    """Of a plan before it runs, and of code while it runs."""
    with carded.client() as client:
        found = client.post("/v1/plans/validate", json={"plan": {**SUM, "budget": 0.75}}).json()
        assert (found["valid"], found["cost"]) == (True, 0.75)
        over = client.post("/v1/plans/run", json={"plan": {**SUM, "budget": 0.7}})
        assert problems(over.json()) == [("second", "budget_exceeded", "steps[1]")]
        code = "for n in range(9):\n    try:\n        await caps.math.add(a=n, b=n)\n"
        code += "    except Exception:\n        pass"
        done = client.post("/v1/executions", json={"code": code, "budget": 1.2}).json()
        assert (done["status"], done["result"]["status"]) == ("finished", "limit")
        assert done["result"]["error"]["details"]["limit"] == "cost"
        decided = [each["reason"] for each in done["result"]["decisions"]]
        assert decided[:3] == ["allowed", "allowed", "cost_exceeded"]
        wrong = client.post("/v1/executions", json={"code": "1", "budget": -1})
        assert wrong.status_code == 422


def test_a_plan_can_be_cancelled_while_a_step_runs(carded: ServiceProcess) -> None:
    """The step in flight ends, and no other begins."""
    slow = "import asyncio\nawait asyncio.sleep(50)"
    given = plan(step("slow", "sandbox.execute_code", code=slow), step("b", "math.add", a=1, b=1))
    with carded.client() as client:
        body = {"plan": given, "wait": False}
        answer = client.post("/v1/plans/run", json=body)
        assert answer.status_code == 202
        place = f"/v1/executions/{answer.json()['id']}"
        with client.stream("GET", f"{place}/events") as stream:
            lines = stream.iter_lines()
            assert next(line for line in lines if line == "event: decision")
        ended = client.post(f"{place}/cancel").json()
        assert (ended["status"], ended["started"], ended["result"]) == ("cancelled", True, None)
        records = read_records(carded.state / "caps/audit", execution_id=ended["id"])
        kinds = [type(each.event).__name__ for each in records]
        assert kinds == ["DecisionMade", "OutcomeRecorded"]


def test_a_killed_service_says_whether_a_plan_had_begun(tmp_path: Path) -> None:
    """A decision in the audit log is the begin of a plan, which has no worker of its own."""
    slow = "import asyncio\nawait asyncio.sleep(50)"
    given = plan(step("slow", "sandbox.execute_code", code=slow))
    url, options = f"sqlite:///{tmp_path}/caps.db", {"policy": CARDED_POLICY}
    with running_service(tmp_path, url, **options) as first, first.client() as client:
        begun = client.post("/v1/plans/run", json={"plan": given, "wait": False}).json()
        with client.stream("GET", f"/v1/executions/{begun['id']}/events") as stream:
            lines = stream.iter_lines()
            assert next(line for line in lines if line == "event: decision")
        first.end(signal.SIGKILL)
    with running_service(tmp_path, url, **options) as second, second.client() as client:
        found = client.get(f"/v1/executions/{begun['id']}").json()
        assert (found["status"], found["started"]) == ("lost", True)
