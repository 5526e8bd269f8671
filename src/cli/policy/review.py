"""`caps policy diff`, `lint` and `replay`: compare a policy with another one, or with a log."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import ExitCode, report_errors
from caps.cli.options import json_option, load_registry, registry_option
from caps.cli.policy.files import loaded_policies, records_of, written_policy
from caps.protocol.text import escape_unprintable

if TYPE_CHECKING:
    from caps.security.review.diff import Difference, PolicyDiff
    from caps.security.review.lint_codes import Finding
    from caps.security.review.replay import Replayed

_COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}


@click.command()
@click.argument("older")
@click.argument("newer")
@click.option(
    "--fail-on-wider",
    is_flag=True,
    help="Exit with 7 if NEWER lets through anything that OLDER does not.",
)
@registry_option
@json_option
def diff(
    older: str, newer: str, fail_on_wider: bool, registry_name: str | None, as_json: bool
) -> None:
    """Say what the policy NEWER lets through, compared to OLDER: wider, narrower, same or mixed."""
    from caps.security.policies.load import load_policy
    from caps.security.review.diff import diff as compare
    from caps.security.review_documents import diff_document

    with report_errors():
        found = compare(load_registry(registry_name), load_policy(older), load_policy(newer))
    if as_json:
        click.echo(json.dumps(diff_document(found)))
    else:
        _print_diff(found)
    wider = fail_on_wider and found.verdict.more
    sys.exit(ExitCode.FOUND if wider else ExitCode.OK)


def _print_diff(found: PolicyDiff) -> None:
    for difference in found.all:
        click.echo(_difference_line(difference))
    if found.tests_added or found.tests_removed:
        click.echo(f"tests: {found.tests_added} added, {found.tests_removed} removed")
    click.echo(f"verdict: {found.verdict.value}")


def _difference_line(difference: Difference) -> str:
    note = f" ({difference.note})" if difference.note else ""
    before, after = (
        value if isinstance(value, str) else json.dumps(value)
        for value in (difference.before, difference.after)
    )
    width = difference.width.value if difference.counts else "no effect"
    return escape_unprintable(f"{width}: {difference.place}: {before} -> {after}{note}")


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info"]),
    default="warning",
    show_default=True,
    help="The lowest severity for which the exit code is 7.",
)
@registry_option
@json_option
def lint(files: tuple[str, ...], fail_on: str, registry_name: str | None, as_json: bool) -> None:
    """Find rules of the policy FILE that have no effect, or allow more than intended.

    Of several policies each must allow; what they do to each other is found, too.
    """
    from caps.capabilities.runtime.opening.protected_paths import default_protected_paths
    from caps.security.review.lint import lint as inspect
    from caps.security.review.lint_chain import lint_chain
    from caps.security.review.plurals import plural
    from caps.security.review.scope_answers import Severity

    with report_errors():
        loaded = loaded_policies(files)
        registry, protected = load_registry(registry_name), default_protected_paths()
        written = [written_policy(each) for each in loaded]
        if len(loaded) == 1:
            found = inspect(registry, loaded[0], written=written[0], protected=protected)
        else:
            found = lint_chain(registry, loaded, written=written, protected=protected)
    names = ", ".join(f"`{each.policy.id}`" for each in loaded)
    if as_json:
        findings = [asdict(one) for one in found]
        click.echo(json.dumps({"policy": loaded[-1].policy.id, "findings": findings}))
    else:
        for one in found:
            _print_finding(one)
        click.echo(f"{plural(len(found), 'finding')} in policy {names}")
    bad = any(one.severity.rank >= Severity(fail_on).rank for one in found)
    sys.exit(ExitCode.FOUND if bad else ExitCode.OK)


def _print_finding(found: Finding) -> None:
    label = click.style(found.severity.value, fg=_COLOURS[found.severity.value])
    place = found.place if found.policy is None else f"{found.place} of `{found.policy}`"
    click.echo(f"{label}: {escape_unprintable(f'{found.code} at {place}: {found.message}')}")
    click.echo(f"  {escape_unprintable(found.remedy)}")


@click.command()
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "policy_paths",
    metavar="FILE",
    multiple=True,
    help="The new policy; repeatable: each must allow.",
)
@click.option(
    "--recorded-under",
    "older_path",
    metavar="FILE",
    help="The policy that made the recorded decisions: it often tells what the log hides.",
)
@click.option(
    "--assume-valid",
    is_flag=True,
    help="Assume that refused calls fitted their schema if the log hides their arguments.",
)
@click.option("--fail-on-unknown", is_flag=True, help="Exit with 7 also if an answer is `unknown`.")
@registry_option
@json_option
def replay(
    log: Path,
    policy_paths: tuple[str, ...],
    older_path: str | None,
    assume_valid: bool,
    fail_on_unknown: bool,
    registry_name: str | None,
    as_json: bool,
) -> None:
    """List every decision in the audit log LOG (a directory) that the policy would change.

    If that depends on an argument that the log hides, the answer is `unknown`. Exit code 7 if a
    decision changes.
    """
    from caps.security.policies.load import load_policy
    from caps.security.review.replay import Flip
    from caps.security.review.replay import replay as replay_log

    counts: Counter[str] = Counter({change.value: 0 for change in Flip})
    listed: list[Replayed] = []
    with report_errors():
        older = load_policy(older_path) if older_path else None
        registry = load_registry(registry_name)
        loaded = loaded_policies(policy_paths)
        for one in replay_log(
            registry,
            loaded,
            records_of(log),
            recorded_under=older,
            assume_valid=assume_valid,
        ):
            counts[one.turn.value] += 1
            if one.turn is not Flip.SAME:
                listed.append(one)
    if as_json:
        rows = [_replayed_object(one) for one in listed]
        click.echo(
            json.dumps({"policy": loaded[-1].policy.id, "counts": counts, "decisions": rows})
        )
    else:
        _print_replayed(listed, counts)
    changed = counts[Flip.TO_ALLOW.value] + counts[Flip.TO_DENY.value]
    unsure = fail_on_unknown and counts[Flip.UNKNOWN.value]
    sys.exit(ExitCode.FOUND if changed or unsure else ExitCode.OK)


def _replayed_object(one: Replayed) -> dict[str, Any]:
    observed, answer = one.observed, one.answer
    return {
        "turn": one.turn.value,
        "seq": observed.seq,
        "ts": observed.ts,
        "execution_id": observed.execution_id,
        "principal": observed.principal,
        "capability": observed.capability,
        "shown": dict(observed.shown),
        "hidden": sorted(observed.hidden),
        "was": observed.decision,
        "was_reason": observed.reason,
        "reason": str(answer.reason),
        "rule": answer.rule,
        "policy": answer.policy,
        "why": answer.why,
    }


def _print_replayed(listed: list[Replayed], counts: Counter[str]) -> None:
    from caps.cli.render.console import Console
    from caps.cli.render.tables import replay_table

    if listed:
        Console().print(replay_table(listed))
    click.echo(", ".join(f"{counts[change]} {change}" for change in counts))
