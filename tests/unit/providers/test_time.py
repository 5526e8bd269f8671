"""`time.now`: the time, where and how the caller wants it."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import cast

import pytest

from caps.capabilities.provider import ProviderError
from caps.providers.time import TimeFormat, now

pytestmark = pytest.mark.anyio


async def test_the_default_is_utc_in_iso8601() -> None:
    """Without arguments the answer is unambiguous."""
    before = time.time()
    answer = await now()
    assert (answer["timezone"], answer["format"]) == ("UTC", "iso8601")
    moment = datetime.fromisoformat(str(answer["value"]))
    assert moment.utcoffset() == timedelta(0)
    assert before - 0.001 <= moment.timestamp() <= time.time() + 0.001


async def test_a_zone_changes_the_clock_and_not_the_moment() -> None:
    """The offset is the zone's, the moment the same."""
    answer = await now(timezone="Asia/Kathmandu")
    moment = datetime.fromisoformat(answer["iso8601"])
    assert moment.utcoffset() == timedelta(hours=5, minutes=45)
    assert round(moment.timestamp(), 3) == answer["unix"]


async def test_both_forms_tell_the_same_millisecond() -> None:
    """One is not rounded where the other is cut off."""
    for _ in range(50):
        answer = await now()
        assert round(datetime.fromisoformat(answer["iso8601"]).timestamp(), 3) == answer["unix"]


async def test_unix_is_a_number() -> None:
    """So that it can be counted with."""
    answer = await now(format="unix")
    assert isinstance(answer["value"], float)
    assert answer["value"] == answer["unix"]


async def test_human_names_the_day_and_the_zone() -> None:
    """For people to read."""
    answer = await now(timezone="UTC", format="human")
    day = datetime.fromisoformat(answer["iso8601"])
    assert answer["value"] == f"{day:%A, %d %B %Y, %H:%M:%S} UTC"


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("Europe/Pariss", "`Europe/Paris`"),
        ("europe/paris", "`Europe/Paris`"),
        ("New York", "`America/New_York`"),
        ("", "IANA name"),
        ("../../etc/passwd", "IANA name"),
        ("/etc/localtime", "there is no time zone"),
        ("localtime", "there is no time zone"),
        ("UTC\0", "there is no time zone"),
        ("x" * 100_000, "IANA name"),
    ],
)
async def test_an_unknown_zone_is_refused_with_a_hint(zone: str, hint: str) -> None:
    """The name is untrusted and never becomes a path; the message stays short."""
    with pytest.raises(ProviderError, match=hint) as caught:
        await now(timezone=zone)
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 400


async def test_an_unknown_format_is_refused() -> None:
    """Formats are a closed set for every caller."""
    with pytest.raises(ProviderError, match="iso8601"):
        await now(format=cast("TimeFormat", "rfc822"))
