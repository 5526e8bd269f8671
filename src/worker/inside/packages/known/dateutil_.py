"""dateutil: it looks for the files of time zones, where Linux has them."""

from __future__ import annotations

import importlib
import os
from typing import Any

from caps.worker.inside.packages import data_files
from caps.worker.inside.packages.preparation import Preparation
from caps.worker.inside.stdlib.zoneinfo_ import load_time_zones

_DIRECTORY = "/usr/share/zoneinfo"


def _keep_time_zones() -> None:
    tz: Any = importlib.import_module("dateutil.tz")
    if hasattr(tz, "_tzpath"):  # since 4.0; before, the directory is one of a fixed list
        tz._tzpath.TZPATH = (_DIRECTORY,)
    status = os.stat(__file__)  # noqa: PTH116 - a regular file is all that it has to be
    for name, table in load_time_zones().items():
        data_files.keep_as(f"{_DIRECTORY}/{name}", table, status)


def _parse() -> None:
    import dateutil.parser

    dateutil.parser.parse("5 January 2024 10:00 UTC")


PREPARATIONS = (
    Preparation(
        package="dateutil",
        parts="dateutil.easter dateutil.parser dateutil.relativedelta dateutil.rrule dateutil.tz",
        exercises=(_keep_time_zones, _parse),
    ),
)
