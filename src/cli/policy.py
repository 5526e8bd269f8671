"""`caps policy`: is this policy sound, and what would it say?"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from caps.cli.exits import ExitCode, fail, told_in_one_line
from caps.cli.options import json_option, load_registry, policy_option, registry_option


@click.group()
def policy() -> None:
    """Validate a policy, and explain what it decides."""


@policy.command()
@click.argument("file", required=False)
@registry_option
@json_option
def validate(file: str | None, registry_name: str | None, as_json: bool) -> None:
    """Parse FILE (or CAPS_POLICY_PATH), set it against the registry and run its tests."""
    from caps.security.decision import ReasonCode
    from caps.security.policy_source import POLICY_PATH_VARIABLE, load_policy

    if file is None and not os.environ.get(POLICY_PATH_VARIABLE):
        fail(f"name a policy file, or set {POLICY_PATH_VARIABLE}", ExitCode.BAD_USAGE)
    with told_in_one_line():
        bound = load_registry(registry_name).bind(load_policy(file))
    found: dict[str, Any] = {
        "policy": bound.policy.id,
        "source": bound.source,
        "sha256": bound.policy.sha256,
        "granted": list(bound.granted),
        "approve": [name for name in bound.granted if bound.terms[name].approve],
        "dry_run": list(bound.policy.dry_run),
        "withheld": {terms.name: str(terms.withheld) for terms in bound.withheld},
        "tests": len(bound.policy.tests),
    }
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(
        f"policy `{bound.policy.id}` is valid: grants {len(bound.granted)} of "
        f"{len(bound.terms)} capabilities, {len(bound.policy.tests)} tests pass"
    )
    click.echo(f"granted: {', '.join(bound.granted) or 'nothing'}")
    for label, names in (("waits for an approval", "approve"), ("denied in dry run", "dry_run")):
        if found[names]:
            click.echo(f"{label}: {', '.join(found[names])}")
    for terms in bound.withheld:
        if terms.withheld is ReasonCode.SCOPE_MISSING:
            click.echo(f"allowed and still withheld: {terms.name} ({terms.withheld})")


@policy.command()
@click.argument("capability")
@click.argument("payload", default="{}")
@policy_option
@registry_option
@json_option
def explain(
    capability: str,
    payload: str,
    policy_path: str | None,
    registry_name: str | None,
    as_json: bool,
) -> None:
    """Say what the policy decides about CAPABILITY with PAYLOAD (JSON), and why.

    Exit code 0 if it is allowed, 3 if it is denied.
    """
    from caps.security.decision import NOTHING_USED, Request, decide
    from caps.security.policy_source import load_policy

    arguments = _parse_payload(payload)
    with told_in_one_line():
        registry = load_registry(registry_name)
        grant = registry.inject("caps", "explain", registry.bind(load_policy(policy_path)))
    decision = decide(grant, Request(capability, arguments), NOTHING_USED)
    found: dict[str, Any] = {
        "capability": capability,
        "decision": "allow" if decision.allowed else "deny",
        "reason": decision.reason.value,
        "rule": decision.rule,
        "message": decision.message,
        "detail": decision.detail,
        "nearest": decision.nearest,
        "problems": [
            {"path": problem.path, "expected": problem.expected, "got": problem.got}
            for problem in decision.problems
        ],
        "policy": decision.policy_id,
        "policy_sha256": decision.policy_sha256,
    }
    if as_json:
        click.echo(json.dumps(found))
    else:
        _print_explanation(found)
    sys.exit(ExitCode.OK if decision.allowed else ExitCode.POLICY_REFUSED)


def _parse_payload(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        fail(f"the payload is no json: {error}", ExitCode.BAD_USAGE)
    if not isinstance(value, dict):
        fail("the payload must be a json object", ExitCode.BAD_USAGE)
    return value


def _print_explanation(found: dict[str, Any]) -> None:
    from caps.cli.tables import visible

    click.echo(f"{found['decision']}: {visible(found['message'])}")
    for label in ("reason", "rule", "detail", "nearest"):
        if found[label]:
            click.echo(f"  {label}: {visible(str(found[label]))}")
    for problem in found["problems"]:
        text = f"{problem['path']}: expected {problem['expected']}, got {problem['got']}"
        click.echo(f"  problem: {visible(text)}")
