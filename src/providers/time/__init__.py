"""(7) The `time` domain: what time it is, where the caller wants to know it.

The name of a zone is untrusted and ends in a file name, so it is looked up in the set of zones
that exist before it goes anywhere near the disk.
"""

from __future__ import annotations

import difflib
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

import anyio.to_thread
from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.provider import ProviderError
from caps.capabilities.registry import CapabilityRegistry
from caps.providers.legible import legible

_LONGEST_ZONE = 64

TimeFormat = Literal["iso8601", "unix", "human"]


class Moment(TypedDict):
    """One moment, told in the asked format as `value` and, always, in the two exact ones."""

    timezone: str
    format: TimeFormat
    value: str | float
    unix: float
    iso8601: str


async def now(
    timezone: Annotated[
        str, Field(max_length=_LONGEST_ZONE, description="an IANA name such as `Europe/Paris`")
    ] = "UTC",
    format: TimeFormat = "iso8601",  # noqa: A002 - the name that callers know
) -> Moment:
    """Tell the current time in a time zone."""
    # Off the loop: the first use of a zone reads the disk.
    zone = UTC if timezone == "UTC" else await anyio.to_thread.run_sync(_zone, timezone)
    moment = datetime.now(zone)
    unix = round(moment.timestamp(), 3)
    iso8601 = moment.isoformat(timespec="milliseconds")
    told: dict[TimeFormat, str | float] = {
        "iso8601": iso8601,
        "unix": unix,
        "human": f"{moment:%A, %d %B %Y, %H:%M:%S %Z}",
    }
    if format not in told:
        raise ProviderError("`format` must be one of `iso8601`, `unix` and `human`")
    return {
        "timezone": timezone,
        "format": format,
        "value": told[format],
        "unix": unix,
        "iso8601": iso8601,
    }


def register_clock(registry: CapabilityRegistry) -> None:
    """Declare the domain `time` and its one capability."""
    registry.domain("time", scope=None, title="Time", description="The host's clock.")
    registry.capability(
        "time.now",
        title="Tell the time",
        shown=("timezone", "format"),
        tags=frozenset({"reads"}),
        idempotent=True,
    )(now)


@cache
def _zones() -> frozenset[str]:
    # `localtime` is a link to the host's own zone, which is nobody's business.
    return frozenset(available_timezones()) - {"localtime"}


def _zone(name: str) -> tzinfo:
    if name in _zones():
        return ZoneInfo(name)
    nearest = _nearest_zone(name[:_LONGEST_ZONE])
    hint = f"did you mean `{nearest}`?" if nearest else "use an IANA name such as `Europe/Paris`"
    raise ProviderError(f"there is no time zone `{legible(name)}`; {hint}")


def _nearest_zone(name: str) -> str | None:
    """The zone whose full name, or whose city, looks most like `name`."""
    wanted = name.casefold().replace(" ", "_")
    by_city = {zone.rpartition("/")[2].casefold(): zone for zone in sorted(_zones(), reverse=True)}
    by_name = {zone.casefold(): zone for zone in _zones()}
    candidates = by_city | by_name
    found = difflib.get_close_matches(wanted, candidates, n=1, cutoff=0.75)
    return candidates[found[0]] if found else None
