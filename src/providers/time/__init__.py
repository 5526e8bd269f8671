"""(7) The `time` domain: the current time in a time zone; the capability `current_time`.

The name of a zone is untrusted and becomes part of a file name, so it is first looked up in the set
of zones that exist.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.catalogue.capability import Capability, ToolDescriptor
from caps.capabilities.provider import CallContext, ProviderError
from caps.capabilities.registry import CapabilityRegistry
from caps.protocol.text import nearest, printable

_MAX_ZONE_CHARACTERS = 64

# The context outside a call of the broker, for programs that use this function themselves.
_NO_CALL = CallContext(
    execution_id="",
    request_id="",
    capability="time.now",
    principal="",
    agent=None,
    session=None,
    scope=None,
    timeout_ms=30_000,
)

TimeFormat = Literal["iso8601", "unix", "human"]


class Moment(TypedDict):
    """One moment: `value` in the requested format, and always the two exact ones."""

    timezone: str
    format: TimeFormat
    value: str | float
    unix: float
    iso8601: str


async def now(
    timezone: Annotated[
        str,
        Field(max_length=_MAX_ZONE_CHARACTERS, description="an IANA name such as `Europe/Paris`"),
    ] = "UTC",
    format: TimeFormat = "iso8601",  # noqa: A002 - the name that callers know
    context: CallContext = _NO_CALL,
) -> Moment:
    """Tell the current time in a time zone."""
    # In a thread: the first use of a zone reads the disk.
    zone = UTC if timezone == "UTC" else await context.run_in_thread(_zone, timezone)
    moment = datetime.now(zone)
    # Both forms have milliseconds, and tell the same one.
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    unix = round(moment.timestamp(), 3)
    iso8601 = moment.isoformat(timespec="milliseconds")
    formats: dict[TimeFormat, str | float] = {
        "iso8601": iso8601,
        "unix": unix,
        "human": f"{moment:%A, %d %B %Y, %H:%M:%S %Z}",
    }
    if format not in formats:
        raise ProviderError("`format` must be one of `iso8601`, `unix` and `human`")
    return {
        "timezone": timezone,
        "format": format,
        "value": formats[format],
        "unix": unix,
        "iso8601": iso8601,
    }


class CurrentTime(Capability):
    """The clock, as a tool."""

    key = "current_time"
    name = "Current Time"
    description = "Tool to get current date and time in various formats and timezones."
    icon = "clock"
    category = "Utilities"
    tools = (
        ToolDescriptor(
            "get_current_time",
            "Get Current Time",
            "Get the current date and time in a time zone, as ISO 8601, Unix time or text.",
            "time.now",
        ),
    )


def register_clock(registry: CapabilityRegistry) -> None:
    """Declare the domain `time`, its one function and the capability `current_time`."""
    registry.domain("time", scope=None, title="Time", description="The host's clock.")
    registry.capability(
        "time.now",
        title="Tell the time",
        shown=("timezone", "format"),
        tags=frozenset({"reads"}),
        idempotent=True,
    )(now)
    registry.register(CurrentTime)


@cache
def _zones() -> frozenset[str]:
    # `localtime` is a link to the host's own zone, which callers must not learn.
    return frozenset(available_timezones()) - {"localtime"}


def _zone(name: str) -> tzinfo:
    if name in _zones():
        return ZoneInfo(name)
    found = _nearest_zone(name[:_MAX_ZONE_CHARACTERS])
    hint = f"did you mean `{found}`?" if found else "use an IANA name such as `Europe/Paris`"
    raise ProviderError(f"there is no time zone `{printable(name)}`; {hint}")


def _nearest_zone(name: str) -> str | None:
    """The zone whose full name, or whose city, looks most like `name`."""
    by_city = {zone.rpartition("/")[2].casefold(): zone for zone in sorted(_zones(), reverse=True)}
    by_name = {zone.casefold(): zone for zone in _zones()}
    candidates = by_city | by_name
    found = nearest(name.casefold().replace(" ", "_"), candidates, cutoff=0.75)
    return None if found is None else candidates[found]
