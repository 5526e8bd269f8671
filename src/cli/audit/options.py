"""The options that the commands of `caps audit` share: which log, which records, in which form."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from caps.cli.exits import ExitCode, fail

if TYPE_CHECKING:
    from caps.security.audit.query.filters import RecordFilter

# The filters by name, as they were given on the command line.
Asked = Mapping[str, Any]
Command = Callable[..., None]


class Form(enum.Enum):
    """How records are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


directory_option = click.option(
    "--audit",
    "directory",
    type=click.Path(path_type=Path),
    envvar="CAPS_AUDIT_PATH",
    show_envvar=True,
    help="Directory of the log; by default the one in the user's state directory.",
)

_FILTERS: Final = (
    click.option("--execution", metavar="ID", help="Of this execution; the start of its id."),
    click.option("--agent", metavar="NAME", help="Of this agent."),
    click.option("--principal", metavar="NAME", help="Of this caller."),
    click.option("--session", metavar="ID", help="Of this session."),
    click.option("--capability", metavar="NAME", help="About `files.read`, or all of `files.*`."),
    click.option("--decision", type=click.Choice(["allow", "deny"]), help="Decided like this."),
    click.option("--reason", metavar="CODE", help="For this reason, as `scope_violation`."),
    click.option(
        "--kind", "kinds", multiple=True, metavar="KIND", help="Of this kind; repeatable."
    ),
    click.option("--since", metavar="TIME", help="From then on: ISO 8601 (UTC), or `10m` ago."),
    click.option("--until", metavar="TIME", help="Before then, given like --since."),
)
_NAMES: Final = (
    "execution agent principal session capability decision reason kinds since until".split()
)


def filter_options(command: Command) -> Command:
    """Adds the filters; the command gets those that were given as one mapping, `asked`."""

    @functools.wraps(command)
    def gathered(**given: Any) -> None:
        asked = {name: given.pop(name) for name in _NAMES}
        command(asked=asked, **given)

    for option in reversed(_FILTERS):
        gathered = option(gathered)
    return gathered


def form_options(command: Command) -> Command:
    """Adds `--json` and `--csv`; the command gets a `form`."""

    @functools.wraps(command)
    def gathered(*, as_json: bool, as_csv: bool, **given: Any) -> None:
        if as_json and as_csv:
            fail("`--json` and `--csv` exclude each other", ExitCode.BAD_USAGE)
        form = Form.JSON if as_json else Form.CSV if as_csv else Form.TABLE
        command(form=form, **given)

    csv_flag = click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
    json_flag = click.option("--json", "as_json", is_flag=True, help="Print one object a line.")
    return json_flag(csv_flag(gathered))


def chosen(asked: Asked) -> RecordFilter:
    """The filter that was asked for. Raises `ConfigurationError`."""
    from caps.security.audit.query.filters import RecordFilter, parse_digest, parse_moment

    given = {name: value for name, value in asked.items() if value is not None}
    given["kinds"] = frozenset(given.get("kinds", ()))
    for name in ("since", "until"):
        if name in given:
            given[name] = parse_moment(given[name])
    if "value_hash" in given:
        given["value_hash"] = parse_digest(given["value_hash"])
    return RecordFilter(**given)


def asked_directory(given: Path | None) -> Path:
    """The log that was named, or the default one."""
    from caps.security.audit import default_audit_directory

    return given or default_audit_directory()
