"""`caps policy`: check a policy, and show what it decides.

The work is done in `caps.security.review`; these commands call it and print the results.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import ExitCode, report_errors
from caps.cli.input_files import parse_payload
from caps.cli.options import json_option, load_registry, policy_option, registry_option
from caps.cli.policy.files import loaded_policy, read_bytes, written_policy
from caps.cli.policy.learn import learn
from caps.cli.policy.review import diff, lint, replay
from caps.protocol.text import escape_unprintable

if TYPE_CHECKING:
    from caps.capabilities.grant import BoundPolicy
    from caps.security.review.explain import Explanation
    from caps.security.review.policy_tests import TestOutcome


@click.group()
def policy() -> None:
    """Check, test and explain a policy, compare two, and learn one."""


@policy.command()
@click.argument("file", required=False)
@registry_option
@json_option
def validate(file: str | None, registry_name: str | None, as_json: bool) -> None:
    """Parse FILE (or CAPS_POLICY_PATH), check it against the registry and run its tests.

    If it grants real modules, a zygote loads them as a check.
    """
    from caps.capabilities.runtime.protected_paths import default_protected_paths
    from caps.security.decision import ReasonCode

    with report_errors():
        bound = load_registry(registry_name).bind(
            loaded_policy(file), guarded=default_protected_paths()
        )
        _load_modules(bound)
    found: dict[str, Any] = {
        "policy": bound.policy.id,
        "source": bound.source,
        "sha256": bound.policy.sha256,
        "granted": list(bound.granted),
        "approve": [name for name in bound.granted if bound.terms[name].approve],
        "dry_run": list(bound.policy.dry_run),
        "withheld": {terms.name: str(terms.withheld) for terms in bound.withheld},
        "modules": list(bound.policy.modules),
        "tests": len(bound.policy.tests),
    }
    if as_json:
        click.echo(json.dumps(found))
        return
    tests = len(bound.policy.tests)
    click.echo(
        f"policy `{bound.policy.id}` is valid: grants {len(bound.granted)} of {len(bound.terms)} "
        f"capabilities, {tests} {'test passes' if tests == 1 else 'tests pass'}"
    )
    click.echo(f"granted: {', '.join(bound.granted) or 'nothing'}")
    for label, names in (("waits for an approval", "approve"), ("denied in dry run", "dry_run")):
        if found[names]:
            click.echo(f"{label}: {', '.join(found[names])}")
    _print_modules(bound.policy.modules)
    for terms in bound.withheld:
        if terms.withheld is ReasonCode.SCOPE_MISSING:
            click.echo(f"allowed and still withheld: {terms.name} ({terms.withheld})")


@policy.command("test")
@click.argument("file", required=False)
@click.option(
    "--tests",
    "tests_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="More tests: a JSON array of tests, or a policy whose tests are used.",
)
@registry_option
@json_option
def run_tests(
    file: str | None, tests_file: Path | None, registry_name: str | None, as_json: bool
) -> None:
    """Run the tests of the policy FILE (or CAPS_POLICY_PATH), and show the result of each.

    Exit code 7 if one fails.
    """
    from caps.security.review import policy_tests

    with report_errors():
        loaded = loaded_policy(file)
        terms = load_registry(registry_name).terms_of(loaded)
        outcomes = policy_tests.run_tests(terms, loaded.policy.tests, source=loaded.source)
        if tests_file is not None:
            data = read_bytes(tests_file)
            more = policy_tests.tests_from_json(data, source=str(tests_file))
            outcomes += policy_tests.run_tests(terms, more, source=str(tests_file))
    failed = sum(not outcome.passed for outcome in outcomes)
    if as_json:
        found = [{**asdict(outcome), "passed": outcome.passed} for outcome in outcomes]
        click.echo(json.dumps({"policy": loaded.policy.id, "failed": failed, "tests": found}))
    else:
        for outcome in outcomes:
            _print_outcome(outcome)
        click.echo(f"{len(outcomes) - failed} of {len(outcomes)} tests pass")
    sys.exit(ExitCode.FOUND if failed else ExitCode.OK)


def _print_outcome(outcome: TestOutcome) -> None:
    label = click.style("ok", fg="green") if outcome.passed else click.style("FAILED", fg="red")
    call = escape_unprintable(f"{outcome.call} {json.dumps(outcome.payload)}")
    click.echo(
        f"{label}: {escape_unprintable(outcome.source)} tests[{outcome.index}] {call}: "
        f"expect {outcome.expect}, got {outcome.got} ({outcome.reason})"
    )
    if not outcome.passed:
        click.echo(f"  {escape_unprintable(outcome.message)}")


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

    For a denial, also print the smallest change of the policy that would allow the call, and what
    else that change would allow. Exit code 0 if it is allowed, 3 if it is denied.
    """
    from caps.security.decision import Request
    from caps.security.policies.load import load_policy
    from caps.security.review.explain import explain as explain_decision

    request = Request(capability, parse_payload(payload))
    with report_errors():
        registry, loaded = load_registry(registry_name), load_policy(policy_path)
        registry.bind(loaded)  # refuses a policy whose tests fail
        explanation = explain_decision(registry, loaded, request, written=written_policy(loaded))
    found = {**_as_object(capability, explanation), "modules": list(loaded.policy.modules)}
    if as_json:
        click.echo(json.dumps(found))
    else:
        _print_explanation(found)
    sys.exit(ExitCode.OK if explanation.decision.allowed else ExitCode.POLICY_REFUSED)


def _as_object(capability: str, explanation: Explanation) -> dict[str, Any]:
    import msgspec

    decision = explanation.decision
    return {
        "capability": capability,
        "decision": decision.expectation,
        "reason": decision.reason.value,
        "rule": decision.rule,
        "dry_run_rule": decision.dry_run_rule,
        "message": decision.message,
        "detail": decision.detail,
        "nearest": decision.nearest,
        "problems": [msgspec.structs.asdict(problem) for problem in decision.problems],
        "changes": [asdict(change) for change in explanation.changes],
        "hopeless": explanation.hopeless,
        "breaks_tests": list(explanation.breaks),
        "policy": decision.policy_id,
        "policy_sha256": decision.policy_sha256,
    }


def _print_explanation(found: dict[str, Any]) -> None:
    click.echo(f"{found['decision']}: {escape_unprintable(found['message'])}")
    for label in ("reason", "rule", "detail", "nearest"):
        if found[label]:
            click.echo(f"  {label}: {escape_unprintable(str(found[label]))}")
    if found["dry_run_rule"]:
        rule = escape_unprintable(found["dry_run_rule"])
        click.echo(f"  dry run: rule `{rule}` would deny it if it were in force")
    for problem in found["problems"]:
        text = f"{problem['path']}: expected {problem['expected']}, got {problem['got']}"
        click.echo(f"  problem: {escape_unprintable(text)}")
    if found["hopeless"]:
        click.echo(f"nothing in the policy can allow it: {escape_unprintable(found['hopeless'])}")
    for change in found["changes"]:
        click.echo(f"to allow it: {escape_unprintable(change['says'])}")
        click.echo(f"  opens: {escape_unprintable(change['opens'])}")
        for operation in change["patch"]:
            click.echo(f"  patch: {escape_unprintable(json.dumps(operation))}")
    for index in found["breaks_tests"]:
        click.echo(f"then this test of the policy fails: tests[{index}]")
    _print_modules(found["modules"])


def _print_modules(names: Sequence[str]) -> None:
    if names:
        click.echo(
            f"real modules: {', '.join(names)} (the language layer does not protect against code "
            "that uses them; the kernel layers confine it)"
        )


def _load_modules(bound: BoundPolicy) -> None:
    """Raise PolicyInvalidError if a real module that the policy grants cannot be loaded here."""
    if not bound.policy.modules:
        return
    import anyio

    from caps.capabilities.runtime.open_runtime import as_policy_error
    from caps.protocol.errors import WorkerLostError
    from caps.worker.host.zygote.source import ZygoteSource

    async def load() -> None:
        async with ZygoteSource().with_modules(bound.policy.modules).open():
            return

    try:
        anyio.run(load)
    except WorkerLostError as lost:
        raise as_policy_error(bound, lost) from None


policy.add_command(diff)
policy.add_command(learn)
policy.add_command(lint)
policy.add_command(replay)
