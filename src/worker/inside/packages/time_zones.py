"""(4) Time zones for real modules: the library's `zoneinfo`, from the tables in memory."""

from __future__ import annotations

import importlib
import io
from typing import Any

from caps.worker.inside.stdlib.zoneinfo_ import load_time_zones


def keep_time_zones() -> None:
    """Have the library's `ZoneInfo` read the tables that the zygote holds already."""
    common: Any = importlib.import_module("zoneinfo._common")
    tables = load_time_zones()

    def load_tzdata(key: str) -> io.BytesIO:
        table = tables.get(key)
        if table is None:
            raise common.ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(table)

    common.load_tzdata = load_tzdata
