"""`caps policy`: is this policy sound, and what would it say?"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import ExitCode, fail, told_in_one_line
from caps.cli.options import json_option, load_registry, policy_option, registry_option

if TYPE_CHECKING:
    from caps.capabilities.grant import BoundPolicy


@click.group()
def policy() -> None:
    """Validate a policy, and explain what it decides."""


@policy.command()
@click.argument("file", required=False)
@registry_option
@json_option
def validate(file: str | None, registry_name: str | None, as_json: bool) -> None:
    """Parse FILE (or CAPS_POLICY_PATH), set it against the registry and run its tests.

    If it grants real modules, a zygote loads them for real.
    """
    from caps.security.decision import ReasonCode
    from caps.security.policy_source import POLICY_PATH_VARIABLE, load_policy

    if file is None and not os.environ.get(POLICY_PATH_VARIABLE):
        fail(f"name a policy file, or set {POLICY_PATH_VARIABLE}", ExitCode.BAD_USAGE)
    with told_in_one_line():
        bound = load_registry(registry_name).bind(load_policy(file))
        _load_modules(bound)
    found = {
        "policy": bound.policy.id,
        "source": bound.source,
        "sha256": bound.policy.sha256,
        "granted": list(bound.granted),
        "withheld": {terms.name: str(terms.withheld) for terms in bound.withheld},
        "modules": list(bound.policy.modules),
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
    _print_modules(bound.policy.modules)
    for terms in bound.withheld:
        if terms.withheld in (ReasonCode.SCOPE_MISSING, ReasonCode.APPROVAL_REQUIRED):
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
        "modules": list(grant.modules),
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
    _print_modules(found["modules"])


def _print_modules(names: Sequence[str]) -> None:
    if names:
        click.echo(
            f"real modules: {', '.join(names)} (the language layer does not vouch for code that "
            "has them, the kernel layers hold it)"
        )


def _load_modules(bound: BoundPolicy) -> None:
    """A PolicyInvalidError if a real module that the policy grants is not to be had here."""
    if not bound.policy.modules:
        return
    import anyio

    from caps.capabilities.opened import refused_module
    from caps.protocol.errors import WorkerLostError
    from caps.worker.host.zygote import ZygoteSource

    async def load() -> None:
        async with ZygoteSource().with_modules(bound.policy.modules).open():
            return

    try:
        anyio.run(load)
    except WorkerLostError as lost:
        raise refused_module(bound, lost) from None
