"""What a review found, as JSON: for commands and for the service."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from caps.security.review.diff import PolicyDiff
    from caps.security.review.explain import Explanation


def diff_document(found: PolicyDiff) -> dict[str, Any]:
    return {
        "verdict": found.verdict.value,
        "gained": list(found.gained),
        "lost": list(found.lost),
        "capabilities": [asdict(one) for one in found.capabilities],
        "tried_out": [asdict(one) for one in found.tried_out],
        "modules": [asdict(one) for one in found.modules],
        "scopes": [asdict(one) for one in found.scopes],
        "limits": [asdict(one) for one in found.limits],
        "flows": [asdict(one) for one in found.flows],
        "tests": {"added": found.tests_added, "removed": found.tests_removed},
    }


def explanation_document(capability: str, explanation: Explanation) -> dict[str, Any]:
    decision = explanation.decision
    return {
        "capability": capability,
        "decision": decision.expectation,
        "reason": decision.reason.value,
        "rule": decision.rule,
        "dry_run_rule": decision.dry_run_rule,
        "dry_run_policy": decision.dry_run_policy,
        "message": decision.message,
        "detail": decision.detail,
        "nearest": decision.nearest,
        "problems": [msgspec.structs.asdict(problem) for problem in decision.problems],
        "changes": [asdict(change) for change in explanation.changes],
        "hopeless": explanation.hopeless,
        "breaks_tests": list(explanation.breaks),
        "breaks_tests_of": list(explanation.breaks_of),
        "labels": list(explanation.labels),
        "flows": [asdict(flow) for flow in explanation.flows],
        "after": {name: list(labels) for name, labels in explanation.given},
        "policy": decision.policy_id,
        "policy_sha256": decision.policy_sha256,
    }
