"""Ids that are ordered by time, and times with a zone."""

from __future__ import annotations

from datetime import datetime
from uuid import RFC_4122

import pytest
from sqlalchemy import make_url

from caps.store.columns import UtcTime, new_id


def test_an_id_is_a_uuid_of_version_7() -> None:
    """Unique, and ordered by the millisecond of its creation."""
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert {(each.version, each.variant) for each in ids} == {(7, RFC_4122)}
    times = [each.int >> 80 for each in ids]
    assert times == sorted(times)
    assert abs(times[0] / 1000 - datetime.now().timestamp()) < 60


@pytest.mark.parametrize("url", ["sqlite://", "postgresql+psycopg://"])
def test_a_time_without_a_zone_is_refused(url: str) -> None:
    """It would mean another moment on another host."""
    dialect = make_url(url).get_dialect()()
    with pytest.raises(ValueError, match="a time needs a zone"):
        UtcTime().process_bind_param(datetime(2026, 1, 1), dialect)
