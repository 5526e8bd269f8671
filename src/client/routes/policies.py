"""`/v1/policies`: those in force, reviews of others, and putting one in force.

What a review finds is a document, as the commands of `caps policy` print it with `--json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caps.client.message import Request, Route, json_body, read_as
from caps.client.values import Page, PolicyInForce

LIST = Route("GET", "/v1/policies")
VALIDATE = Route("POST", "/v1/policies/validate")
LINT = Route("POST", "/v1/policies/lint")
EXPLAIN = Route("POST", "/v1/policies/explain")
DIFF = Route("POST", "/v1/policies/diff")
ACTIVATE = Route("POST", "/v1/policies/activate")

Policy = Mapping[str, Any]
Document = dict[str, Any]


def list_policies() -> Request[Page[PolicyInForce]]:
    """The policies in force, of which each must allow."""
    read = read_as(Page[PolicyInForce])
    return Request(method=LIST.method, path=LIST.path(), read=read, is_repeatable=True)


def validate_policy(policy: Policy) -> Request[Document]:
    """Whether a policy fits the registry and passes its own tests, and what it would grant."""
    return _review(VALIDATE, {"policy": policy})


def lint_policy(policy: Policy) -> Request[Document]:
    """Rules that do nothing, or allow more than was meant."""
    return _review(LINT, {"policy": policy})


def explain_decision(
    function: str,
    payload: Mapping[str, Any] | None = None,
    *,
    after: Sequence[str] = (),
    policy: Policy | None = None,
) -> Request[Document]:
    """What is decided about a call, and why; by default under the policies in force."""
    fields = {"function": function, "payload": payload, "after": list(after), "policy": policy}
    return _review(EXPLAIN, fields)


def diff_policies(newer: Policy, *, older: Policy | None = None) -> Request[Document]:
    """What the newer policy lets through, compared to the older one, or the one in force."""
    return _review(DIFF, {"newer": newer, "older": older})


def activate_policy(policy: Policy, *, replaces: str) -> Request[PolicyInForce]:
    """Put a policy in force instead of the one with the digest `replaces`.

    Raises ConflictError if that one is no longer in force.
    """
    return Request(
        method=ACTIVATE.method,
        path=ACTIVATE.path(),
        body=json_body({"policy": policy, "replaces": replaces}),
        read=read_as(PolicyInForce),
    )


def _review(route: Route, fields: Mapping[str, Any]) -> Request[Document]:
    """It changes nothing, so it can be repeated."""
    return Request(
        method=route.method,
        path=route.path(),
        body=json_body(fields),
        read=read_as(Document),
        is_repeatable=True,
    )
