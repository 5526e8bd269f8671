"""The options that the commands of `caps audit` share: which log, which records, in which form."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from caps.cli.exits import ExitCode, fail
from caps.protocol.environment import Variable
from caps.protocol.ways import WAYS

if TYPE_CHECKING:
    from caps.security.audit.query.filters import RecordFilter

# The filters by name, as given on the command line.
Filters = Mapping[str, Any]
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
    envvar=Variable.AUDIT_PATH.key,
    show_envvar=True,
    help="Directory of the log; by default the one in the user's state directory.",
)

_FILTERS: Final = (
    click.option("--execution", metavar="ID", help="Of this execution; the start of its id."),
    click.option("--agent", metavar="NAME", help="Of this agent."),
    click.option("--principal", metavar="NAME", help="Of this caller."),
    click.option("--session", metavar="ID", help="Of this session."),
    click.option("--via", type=click.Choice(WAYS), help="Of requests made in this way."),
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
    "execution agent principal session via capability decision reason kinds since until".split()
)


def filter_options(command: Command) -> Command:
    """Add the options of the filters; the command gets them as one mapping, `given`."""

    @functools.wraps(command)
    def collect(**arguments: Any) -> None:
        filters = {name: arguments.pop(name) for name in _NAMES}
        command(given=filters, **arguments)

    for option in reversed(_FILTERS):
        collect = option(collect)
    return collect


def form_options(command: Command) -> Command:
    """Add `--json` and `--csv`; the command gets a `form`."""

    @functools.wraps(command)
    def collect(*, as_json: bool, as_csv: bool, **arguments: Any) -> None:
        if as_json and as_csv:
            fail("`--json` and `--csv` exclude each other", ExitCode.BAD_USAGE)
        form = Form.JSON if as_json else Form.CSV if as_csv else Form.TABLE
        command(form=form, **arguments)

    csv_flag = click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
    json_flag = click.option("--json", "as_json", is_flag=True, help="Print one object per line.")
    return json_flag(csv_flag(collect))


def build_filter(given: Filters) -> RecordFilter:
    """The filter of these options. Raises `ConfigurationError`."""
    from caps.security.audit.query.filters import RecordFilter, parse_digest, parse_moment

    values = {name: value for name, value in given.items() if value is not None}
    values["kinds"] = frozenset(values.get("kinds", ()))
    for name in ("since", "until"):
        if name in values:
            values[name] = parse_moment(values[name])
    if "value_hash" in values:
        values["value_hash"] = parse_digest(values["value_hash"])
    return RecordFilter(**values)


def audit_directory(given: Path | None) -> Path:
    """The log that was named, or the default one."""
    from caps.security.audit import default_audit_directory

    return given or default_audit_directory()
