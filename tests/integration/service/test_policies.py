"""Policies over HTTP: listed, reviewed, and put in force by their file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from caps.security.audit import AdminAction, read_records
from support.service_process import POLICY, ServiceProcess, running_service


def test_those_in_force_are_listed(client: httpx2.Client) -> None:
    (found,) = client.get("/v1/policies").json()["items"]
    assert (found["id"], found["policy"]["approve"]) == ("operator", ["math.divide"])
    assert found["can_be_replaced"] is True


def test_a_policy_is_validated(client: httpx2.Client) -> None:
    """With its tests; one that fails is not valid."""
    good: dict[str, Any] = {
        "allow": ["math.add"],
        "tests": [{"call": "math.add", "expect": "deny"}],
    }
    found = client.post("/v1/policies/validate", json={"policy": good}).json()
    assert (found["valid"], found["granted"], found["tests"]) == (True, ["math.add"], 1)
    bad = good | {"tests": [{"call": "files.read", "expect": "allow"}]}
    wrong: list[dict[str, Any]] = [bad, {"alow": []}, {"allow": ["nothing.here"]}]
    for policy in wrong:
        found = client.post("/v1/policies/validate", json={"policy": policy}).json()
        assert (found["valid"], bool(found["problem"]["detail"])) == (False, True)


def test_lint_explain_and_diff(client: httpx2.Client, service: ServiceProcess) -> None:
    """As the commands have them."""
    policy: dict[str, Any] = {"allow": ["math.add"], "deny": ["math.add"]}
    (service.state / "p.json").write_text(json.dumps(policy))
    found = client.post("/v1/policies/lint", json={"policy": policy}).json()
    done = service.caps("policy", "lint", str(service.state / "p.json"), "--json")
    assert found["findings"] == json.loads(done.stdout)["findings"]
    question = {"function": "files.read", "payload": {"path": "x"}}
    found = client.post("/v1/policies/explain", json=question).json()
    assert (found["decision"], found["policy"]) == ("deny", "operator")
    found = client.post("/v1/policies/explain", json=question | {"policy": policy}).json()
    assert found["changes"]
    found = client.post("/v1/policies/diff", json={"newer": policy}).json()
    assert (found["verdict"], "math.add" in found["lost"]) == ("mixed", True)
    answer = client.post("/v1/policies/explain", json=question | {"after": ["no.such"]})
    assert answer.status_code == 422


@pytest.mark.parametrize("as_option", [False, True])
def test_a_policy_is_put_in_force(tmp_path: Path, as_option: bool) -> None:
    """For what starts after it; not if it is invalid, or if another one came first."""
    file = tmp_path / ("given.json" if as_option else "policy.json")
    file.write_text(json.dumps(POLICY))
    file.chmod(0o640)
    options = ("--policy", str(file)) if as_option else ()
    url = f"sqlite:///{tmp_path}/caps.db"
    with running_service(tmp_path, url, *options) as service, service.client() as client:
        (before,) = client.get("/v1/policies").json()["items"]
        call = {"function": "math.add", "payload": {"a": 1, "b": 2}}
        assert client.post("/v1/calls", json=call).json()["ok"] is True
        new = {"version": 1, "id": "newer", "allow": ["time.now"]}
        body = {"policy": new, "replaces": before["sha256"]}
        for changed, status in (
            ({"replaces": "0" * 64}, 409),
            ({"policy": {"allow": ["x.y"]}}, 422),
            ({"policy": new | {"tests": [{"call": "math.add", "expect": "allow"}]}}, 422),
        ):
            answer = client.post("/v1/policies/activate", json=body | changed)
            assert answer.status_code == status, answer.text
        assert json.loads(file.read_text()) == POLICY
        answer = client.post("/v1/policies/activate", json=body)
        assert (answer.status_code, answer.json()["id"]) == (200, "newer")
        assert client.post("/v1/calls", json=call).json()["ok"] is False
        assert (json.loads(file.read_text()), file.stat().st_mode & 0o777) == (new, 0o640)
        assert client.post("/v1/policies/activate", json=body).status_code == 409
        events = [each.event for each in read_records(tmp_path / "caps/audit")]
        done = [each for each in events if isinstance(each, AdminAction)]
        assert [(e.status, e.principal) for e in done if e.action == "policy_activate"] == [
            ("begun", "ada"),
            ("done", "ada"),
        ]
