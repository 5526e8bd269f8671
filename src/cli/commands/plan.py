"""`caps plan`: check a plan as a whole, and run it step by step."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import EXIT_BY_CALL_ERROR, MAX_MESSAGE_CHARACTERS, ExitCode, fail, report_errors
from caps.cli.gc_pause import gc_paused
from caps.cli.input_files import read_input
from caps.cli.options import (
    announcing_approver,
    approvals_option,
    audit_option,
    audit_settings,
    audit_sink_option,
    json_option,
    policy_option,
    principal_or_user,
    registry_option,
    session_option,
)
from caps.cli.signals import StopSignals, exit_by_signal, result_of
from caps.cli.tool_cards import carded_registry
from caps.protocol.text import printable

if TYPE_CHECKING:
    from caps.agents.plans.run import PlanResult
    from caps.agents.plans.validate import CheckedPlan
    from caps.capabilities.grant import BoundPolicy
    from caps.capabilities.registry import CapabilityRegistry
    from caps.security.policies.load import PolicySource


@click.group()
def plan() -> None:
    """Check plans, and run them."""


@plan.command()
@click.argument("file")
@policy_option
@registry_option
@json_option
def check(
    file: str, policy_paths: tuple[str, ...], registry_name: str | None, as_json: bool
) -> None:
    """Print everything that is wrong with the plan in FILE. Nothing runs.

    Ends with 7 if the plan has errors; warnings alone, of what is settled when it runs, are fine.
    """
    with report_errors():
        registry = carded_registry(registry_name, audit_settings(None, ()))
        checked, _ = _checked(file, registry, _ceiling(policy_paths), as_json=as_json)
    _print_checked(checked, as_json=as_json)
    sys.exit(ExitCode.FOUND if checked.errors else ExitCode.OK)


@plan.command()
@click.argument("file")
@policy_option
@audit_option
@audit_sink_option
@click.option("--principal", default=None, help="Who runs it; by default the current user.")
@click.option("--agent", default=None, help="The agent that the plan is run for.")
@session_option
@approvals_option
@registry_option
@json_option
def run(
    file: str,
    policy_paths: tuple[str, ...],
    audit_path: Path | None,
    audit_sinks: tuple[str, ...],
    principal: str | None,
    agent: str | None,
    session: str | None,
    directory: Path | None,
    registry_name: str | None,
    as_json: bool,
) -> None:
    """Run the plan in FILE, and print the output of its last step as JSON.

    A plan with errors does not run, and ends with 7. A step that is refused or fails stops it.
    """
    result = None
    with report_errors():
        settings = audit_settings(audit_path, audit_sinks)
        if settings.uses_standard_output:
            fail("the result and the sink `stdout:` exclude each other", ExitCode.BAD_USAGE)
        with StopSignals() as stop:
            with gc_paused():
                from caps.agents.plans.run import PlanCaller, run_plan
                from caps.capabilities.runtime.runtime import Runtime

                registry = carded_registry(registry_name, settings)
            policies = _ceiling(policy_paths)
            checked, added = _checked(file, registry, policies, as_json=as_json)
            if checked.errors:
                _print_checked(checked, as_json=as_json)
                sys.exit(ExitCode.FOUND)
            with Runtime(
                policies,
                registry=registry,
                audit=settings,
                approver=announcing_approver(directory),
                watch=False,  # the steps keep the policies that the plan was checked against
            ) as runtime:
                caller = PlanCaller(
                    principal=principal_or_user(principal),
                    agent=agent,
                    session=session,
                    policies=added,
                )
                work = functools.partial(run_plan, runtime, checked, caller)
                result = result_of(runtime.submit_work(work), stop)
    if stop.received is not None or result is None:
        exit_by_signal(stop.received)
    _print_and_exit(result, as_json=as_json)


def _ceiling(policy_paths: tuple[str, ...]) -> list[PolicySource]:
    """The policies over that of the plan, which can only take away: without any, all is denied."""
    from caps.protocol.environment import Variable

    configured = Variable.POLICY_PATH.read()
    given = [*policy_paths] or ([configured] if configured else [])
    return [*given] or [{"version": 1, "id": "no-policy-given"}]


def _checked(
    file: str, registry: CapabilityRegistry, policies: list[PolicySource], *, as_json: bool
) -> tuple[CheckedPlan, tuple[BoundPolicy, ...]]:
    """The plan under all policies, and its own policy. Ends the command if it cannot be read."""
    from caps.agents.plans.plan import MAX_PLAN_BYTES, parse_plan
    from caps.agents.plans.problems import PlanInvalidError
    from caps.agents.plans.validate import validate

    try:
        plan = parse_plan(read_input(file, MAX_PLAN_BYTES))
    except PlanInvalidError as error:
        _print_problems(error.details["problems"], None, as_json=as_json)
        sys.exit(ExitCode.FOUND)
    added = () if plan.policy is None else (registry.bind(plan.policy),)
    chain = registry.chain([*policies, *added])
    return validate(plan, registry, chain), added


def _print_checked(checked: CheckedPlan, *, as_json: bool) -> None:
    from caps.agents.plans.problems import as_json as plain

    _print_problems(plain(checked.problems), checked.cost, as_json=as_json)


def _print_problems(problems: list[dict[str, Any]], cost: float | None, *, as_json: bool) -> None:
    errors = [each for each in problems if not each["warning"]]
    if as_json:
        found = {"valid": not errors, "cost": cost, "problems": problems}
        click.echo(json.dumps(found))
        return
    for each in problems:
        kind = "warning" if each["warning"] else "error"
        step = "" if each["step"] is None else f"step `{each['step']}`: "
        line = f"{kind}: {step}{each['message']} at {each['path']} [{each['code']}]"
        click.echo(printable(line, MAX_MESSAGE_CHARACTERS))
    warnings = len(problems) - len(errors)
    click.echo(f"{len(errors)} errors, {warnings} warnings" if problems else "the plan is valid")


def _print_and_exit(result: PlanResult, *, as_json: bool) -> None:
    failed = next((each for each in result.steps if each.error is not None), None)
    if as_json:
        click.echo(json.dumps(result.as_json()))
    elif failed is None:
        click.echo(json.dumps(result.value, indent=2))
    if failed is None or failed.error is None:
        sys.exit(ExitCode.OK)
    code = EXIT_BY_CALL_ERROR.get(failed.error["code"], ExitCode.CODE_FAILED)
    if as_json:
        sys.exit(code)
    fail(f"step `{failed.id}`: {failed.error['message']}", code)
