"""Plans, tool cards, approvals, policies and the audit log, by a client of a real service."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from caps.client import Client, ConflictError, NotFoundError, RequestInvalidError
from caps.client.values import Approval
from support.card_examples import card_with
from support.service_process import ServiceProcess, token, wait_until

DIVIDE = "await caps.math.divide(a=6, b=2)"


@pytest.fixture
def asker(service: ServiceProcess) -> Iterator[Client]:
    """A runner, whose calls an admin answers."""
    name = f"bob-{uuid.uuid4().hex[:8]}"
    with Client(service.address, token=token(sub=name, role="runner")) as made:
        yield made


def plan(*steps: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    listed = [{"id": id_, "tool": tool, "inputs": inputs} for id_, tool, inputs in steps]
    return {"version": 1, "id": "p", "steps": listed}


def test_a_plan_is_checked_and_run(client: Client) -> None:
    """Its result is typed, and comes in place of that of code."""
    wrong = client.validate_plan(plan(("a", "math.ad", {})))
    assert (wrong.valid, wrong.problems[0]["code"]) == (False, "tool_unknown")
    good = plan(
        ("a", "math.add", {"a": 1, "b": 2}),
        ("b", "math.add", {"a": {"$from": "a", "at": "/result"}, "b": 4}),
    )
    assert client.validate_plan(good).valid is True
    done = client.wait(client.start_plan(good).id)
    assert (done.status, done.result) == ("finished", None)
    assert done.plan_result is not None
    assert done.plan_result.value == {"result": 7}
    assert [step.status for step in done.plan_result.steps] == ["succeeded", "succeeded"]
    assert client.get_execution(done.id) == done


def test_a_card_is_published_and_found(client: Client) -> None:
    """Once; another card of its version is a conflict."""
    card = card_with(name=f"shop.t{uuid.uuid4().hex[:12]}")
    kept = client.publish_tool(card)
    assert (kept.name, kept.side_effects) == (card["name"], card["side_effects"])
    assert client.publish_tool(card).checksum == kept.checksum
    with pytest.raises(ConflictError):
        client.publish_tool({**card, "description": "another"})
    found = client.get_tool_version(kept.name, kept.version)
    assert found == client.get_tool(kept.name)
    assert (found.signature, found.problem) == (kept.signature, None)
    assert found in list(client.tools(limit=50))
    with pytest.raises(NotFoundError):
        client.get_tool("shop.none")


def waiting(client: Client, execution: str) -> Approval:
    """The call of this execution that waits, once it does."""
    found: list[Approval] = []

    def is_there() -> bool:
        found[:] = [e for e in client.approvals(limit=50) if e.execution_id == execution]
        return bool(found)

    wait_until(is_there)
    return found[0]


def test_calls_that_wait_are_allowed_and_denied(client: Client, asker: Client) -> None:
    """With a reason; an answer is given once."""
    first = asker.start_execution(DIVIDE)
    asked = waiting(client, first.id)
    assert (asked.capability, asked.principal) == ("math.divide", first.principal)
    allowed = client.allow_call(asked.id, reason="fine")
    assert (allowed.allowed, allowed.by, allowed.reason) == (True, "ada", "fine")
    done = asker.wait(first.id)
    assert done.result is not None
    assert done.result.value == {"result": 3}
    second = asker.start_execution(DIVIDE)
    asked = waiting(client, second.id)
    assert client.deny_call(asked.id).allowed is False
    done = asker.wait(second.id)
    assert done.result is not None
    assert done.result.error is not None
    assert done.result.error.code == "policy_denied"
    with pytest.raises((ConflictError, NotFoundError)):
        client.allow_call(asked.id)


def test_policies_are_reviewed_and_put_in_force(client: Client) -> None:
    """One that does not fit, or replaces one that is gone, is refused."""
    (before,) = client.list_policies().items
    assert (before.id, before.can_be_replaced) == ("operator", True)
    twice = {"allow": ["math.add"], "deny": ["math.add"]}
    assert client.validate_policy(twice)["valid"] is True
    assert client.lint_policy(twice)["findings"]
    assert client.explain_decision("files.read", {"path": "x"})["decision"] == "deny"
    assert client.explain_decision("math.add", {"a": 1, "b": 2})["decision"] == "allow"
    assert client.diff_policies(twice)["verdict"] in ("mixed", "narrower")
    assert client.diff_policies(twice, older={"allow": ["math.add"]})["lost"]
    newer = {**before.policy, "id": "newer"}
    with pytest.raises(ConflictError):
        client.activate_policy(newer, replaces="0" * 64)
    with pytest.raises(RequestInvalidError):
        client.activate_policy({"allow": ["x.y"]}, replaces=before.sha256)
    put = client.activate_policy(newer, replaces=before.sha256)
    assert [each.sha256 for each in client.list_policies().items] == [put.sha256]
    client.activate_policy(before.policy, replaces=put.sha256)


def test_the_audit_log_is_read_and_verified(client: Client) -> None:
    """Page by page, with the filters of the command."""
    done = client.call("math.add", {"a": 1, "b": 2})
    records = list(client.audit_records(execution=done.execution_id, limit=1))
    kinds = [each["kind"] for each in records]
    assert "decision_made" in kinds
    first = client.query_audit(execution=done.execution_id, kinds=["decision_made"])
    assert [each["capability"] for each in first.items] == ["math.add"]
    assert list(client.audit_records(execution=done.execution_id, decision="deny")) == []
    report = client.verify_audit()
    assert (report.status, report.records > 0) == ("ok", True)
