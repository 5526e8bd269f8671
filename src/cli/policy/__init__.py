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

from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.input_files import parse_payload
from caps.cli.options import json_option, load_registry, policy_option, registry_option
from caps.cli.policy.files import load_policies, loaded_policies, read_bytes, written_policy
from caps.cli.policy.learn import learn
from caps.cli.policy.review import diff, lint, replay
from caps.protocol.text import escape_unprintable

if TYPE_CHECKING:
    from caps.capabilities.chain import PolicyChain
    from caps.capabilities.registry import CapabilityRegistry
    from caps.security.review.policy_tests import TestOutcome


@click.group()
def policy() -> None:
    """Check, test and explain a policy, compare two, and learn one."""


@policy.command()
@click.argument("files", metavar="[FILE]...", nargs=-1)
@registry_option
@json_option
def validate(files: tuple[str, ...], registry_name: str | None, as_json: bool) -> None:
    """Parse FILE (or CAPS_POLICY_PATH), check it against the registry and run its tests.

    Of several files each must allow. If they grant real modules, a zygote loads them as a check.
    """
    from caps.capabilities.runtime.opening.protected_paths import default_protected_paths
    from caps.security.reasons import ReasonCode

    with report_errors():
        registry, protected = load_registry(registry_name), default_protected_paths()
        loaded = loaded_policies(files)
        chain = registry.chain([registry.bind(each, guarded=protected) for each in loaded])
        _load_modules(chain)
    found = _validated(chain)
    if as_json:
        click.echo(json.dumps(found))
        return
    tests = found["tests"]
    names = " and ".join(f"`{bound.policy_id}`" for bound in chain.policies)
    each = "policy" if len(chain.policies) == 1 else "policies"
    verb = ("is", "grants") if len(chain.policies) == 1 else ("are", "together grant")
    click.echo(
        f"{each} {names} {verb[0]} valid: {verb[1]} {len(chain.granted)} of {len(chain.terms)} "
        f"capabilities, {tests} {'test passes' if tests == 1 else 'tests pass'}"
    )
    click.echo(f"granted: {', '.join(chain.granted) or 'nothing'}")
    for label, key in (("waits for an approval", "approve"), ("denied in dry run", "dry_run")):
        if found[key]:
            click.echo(f"{label}: {', '.join(found[key])}")
    _print_modules(chain.modules)
    for terms in chain.terms.values():
        if terms.withheld is ReasonCode.SCOPE_MISSING:
            click.echo(f"allowed and still withheld: {terms.name} ({terms.withheld})")


def _validated(chain: PolicyChain) -> dict[str, Any]:
    own, terms = chain.own, chain.terms.values()
    found: dict[str, Any] = {
        "policy": own.policy.id,
        "source": own.source,
        "sha256": own.policy.sha256,
        "granted": list(chain.granted),
        "approve": [name for name in chain.granted if chain.terms[name].approve],
        "dry_run": [rule for bound in chain.policies for rule in bound.policy.dry_run],
        "withheld": {each.name: str(each.withheld) for each in terms if each.withheld},
        "modules": list(chain.modules),
        "tests": sum(len(bound.policy.tests) for bound in chain.policies),
    }
    if len(chain.policies) > 1:
        found["policies"] = [
            {"policy": bound.policy.id, "source": bound.source, "sha256": bound.policy.sha256}
            for bound in chain.policies
        ]
        found["withheld_by"] = {each.capability: each.policy_id for each in chain.withheld_records}
    return found


@policy.command("test")
@click.argument("files", metavar="[FILE]...", nargs=-1)
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
    files: tuple[str, ...], tests_file: Path | None, registry_name: str | None, as_json: bool
) -> None:
    """Run the tests of the policy FILE (or CAPS_POLICY_PATH), and show the result of each.

    Of several policies each is tested alone, and those of `--tests` are for all of them together.
    Exit code 7 if one fails.
    """
    from caps.security.review import policy_tests

    with report_errors():
        registry, loaded = load_registry(registry_name), loaded_policies(files)
        outcomes: tuple[TestOutcome, ...] = ()
        for one in loaded:
            terms = registry.terms_of(one)
            outcomes += policy_tests.run_tests(terms, one.policy.tests, source=one.source)
        if tests_file is not None:
            data, terms = read_bytes(tests_file), registry.terms_of(*loaded)
            more = policy_tests.tests_from_json(data, source=str(tests_file))
            outcomes += policy_tests.run_tests(terms, more, source=str(tests_file))
    failed = sum(not outcome.passed for outcome in outcomes)
    if as_json:
        found = [{**asdict(outcome), "passed": outcome.passed} for outcome in outcomes]
        click.echo(json.dumps({"policy": loaded[-1].policy.id, "failed": failed, "tests": found}))
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
@click.option(
    "--after",
    multiple=True,
    metavar="CAPABILITY",
    help="Decide as if this function was answered before.",
)
@click.option("--label", "labels", multiple=True, help="As if an answer had this label.")
@policy_option
@registry_option
@json_option
def explain(
    capability: str,
    payload: str,
    after: tuple[str, ...],
    labels: tuple[str, ...],
    policy_paths: tuple[str, ...],
    registry_name: str | None,
    as_json: bool,
) -> None:
    """Say what the policy decides about CAPABILITY with PAYLOAD (JSON), and why.

    For a denial, also print the smallest change of the policy that would allow the call, and what
    else that change would allow. Exit code 0 if it is allowed, 3 if it is denied or waits for an
    approval.
    """
    from caps.security.request import Request
    from caps.security.review.explain import explain as explain_decision
    from caps.security.review.flow_review import known_labels
    from caps.security.review_documents import explanation_document

    request = Request(capability, parse_payload(payload))
    with report_errors():
        registry, loaded = load_registry(registry_name), load_policies(policy_paths)
        chain = registry.chain([registry.bind(each) for each in loaded])  # their tests must pass
        written = [written_policy(each) for each in loaded]
        known = known_labels(registry.terms_of(*loaded))
        answered = _checked_marks(registry, after, labels, known)
        explanation = explain_decision(registry, loaded, request, written=written, after=answered)
    found = {**explanation_document(capability, explanation), "modules": list(chain.modules)}
    if as_json:
        click.echo(json.dumps(found))
    else:
        _print_explanation(found)
    sys.exit(ExitCode.OK if explanation.decision.allowed else ExitCode.POLICY_REFUSED)


def _checked_marks(
    registry: CapabilityRegistry,
    after: Sequence[str],
    labels: Sequence[str],
    known: Sequence[str],
) -> tuple[str, ...]:
    from caps.protocol.text import did_you_mean

    for name in after:
        if name not in registry:
            hint = did_you_mean(name, registry.capabilities)
            fail(f"no capability `{name}` is registered{hint}", ExitCode.BAD_USAGE)
    for label in labels:
        if label not in known:
            hint = did_you_mean(label, known)
            fail(f"nothing gives the label `{label}`{hint}", ExitCode.BAD_USAGE)
    return (*after, *labels)


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
    _print_flows(found)
    if found["hopeless"]:
        click.echo(f"nothing in the policy can allow it: {escape_unprintable(found['hopeless'])}")
    for change in found["changes"]:
        where = f"in policy `{change['policy']}`, " if change["policy"] else ""
        click.echo(f"to allow it: {where}{escape_unprintable(change['says'])}")
        click.echo(f"  opens: {escape_unprintable(change['opens'])}")
        for operation in change["patch"]:
            click.echo(f"  patch: {escape_unprintable(json.dumps(operation))}")
    for index, policy_id in zip(found["breaks_tests"], found["breaks_tests_of"], strict=True):
        of = f"policy `{policy_id}`" if policy_id else "the policy"
        click.echo(f"then this test of {of} fails: tests[{index}]")
    _print_modules(found["modules"])


def _print_flows(found: dict[str, Any]) -> None:
    """The flow rules that cover the call, and which answer gave which label."""
    for name, labels in found["after"].items():
        given = ", ".join(labels) or "no label by itself; a scope or its provider may add some"
        click.echo(f"  after {escape_unprintable(name)}: {given}")
    for flow in found["flows"]:
        state = f"not yet: {', '.join(flow['missing'])}" if flow["missing"] else "applies"
        text = f"{flow['effect']} after {' and '.join(flow['after'])} ({state})"
        click.echo(f"  {escape_unprintable(flow['rule'])}: {text}")
    if found["labels"]:
        click.echo(f"  its answer has the labels: {', '.join(found['labels'])}")


def _print_modules(names: Sequence[str]) -> None:
    if names:
        click.echo(
            f"real modules: {', '.join(names)} (the language layer does not protect against code "
            "that uses them; the kernel layers confine it)"
        )


def _load_modules(chain: PolicyChain) -> None:
    """Raise PolicyInvalidError if a real module that is granted cannot be loaded here."""
    if not chain.modules:
        return
    import anyio

    from caps.capabilities.runtime.open_runtime import as_policy_error
    from caps.protocol.errors import WorkerLostError
    from caps.worker.host.zygote.source import ZygoteSource

    async def load() -> None:
        async with ZygoteSource().with_modules(chain.modules).open():
            return

    try:
        anyio.run(load)
    except WorkerLostError as lost:
        raise as_policy_error(chain.own, lost) from None


policy.add_command(diff)
policy.add_command(learn)
policy.add_command(lint)
policy.add_command(replay)
