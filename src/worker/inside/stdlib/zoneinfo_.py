"""(4) Time zones without a file system: the zygote reads their tables before it confines itself.

About 600 names share far fewer tables, and all forks share their memory pages. A table is parsed
when code first uses the zone. The library's own `ZoneInfo` stays hidden: its `from_file` trusts the
indexes in a file and can read beyond its memory.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import io
import os
from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any

from caps.protocol.text import did_you_mean

_zones: dict[str, ZoneInfo] = {}


@functools.cache
def _library() -> Any:
    """The library's `zoneinfo`. Without PYTHONTZPATH it would load `sysconfig` to find a path."""
    before = os.environ.get("PYTHONTZPATH")
    os.environ["PYTHONTZPATH"] = ""
    try:
        return importlib.import_module("zoneinfo")
    finally:
        if before is None:
            del os.environ["PYTHONTZPATH"]
        else:
            os.environ["PYTHONTZPATH"] = before


@functools.cache
def load_time_zones() -> Mapping[str, bytes]:
    """The tables of all zones by name. Called once, at start-up, while files are accessible."""
    _library()
    spec = importlib.util.find_spec("tzdata")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("`tzdata` is not installed; install caps with its dependencies")
    home = spec.submodule_search_locations[0]
    unique: dict[bytes, bytes] = {}
    tables = {}
    for name in _read(f"{home}/zones").decode().split():
        table = _read(f"{home}/zoneinfo/{name}")
        tables[name] = unique.setdefault(table, table)
    return tables


def _read(path: str) -> bytes:
    with io.FileIO(path) as file:  # unbuffered, since there are hundreds of small files
        return file.readall()


class ZoneInfo(tzinfo):
    """`zoneinfo.ZoneInfo`, from the tables in memory; the same object for the same key."""

    __slots__ = ("_key", "_zone")
    _key: str
    _zone: tzinfo

    def __new__(cls, key: str) -> ZoneInfo:
        if not isinstance(key, str):
            raise TypeError(f"a time zone is named by a string, not by a `{type(key).__name__}`")
        plain = "".join((key, ""))
        found = _zones.get(plain)
        if found is None:
            zone = _zone_of(plain)
            found = _zones[plain] = super().__new__(cls)
            found._key, found._zone = plain, zone
        return found

    @property
    def key(self) -> str:
        return self._key

    def utcoffset(self, dt: datetime | None, /) -> timedelta | None:
        return self._zone.utcoffset(_plain(dt))

    def dst(self, dt: datetime | None, /) -> timedelta | None:
        return self._zone.dst(_plain(dt))

    def tzname(self, dt: datetime | None, /) -> str | None:
        return self._zone.tzname(_plain(dt))

    def fromutc(self, dt: datetime, /) -> datetime:
        plain = _plain(dt)
        if plain is None:
            raise TypeError("fromutc() requires a datetime argument")
        if _tzinfo_of(dt) is not self:
            raise ValueError("fromutc: dt.tzinfo is not self")
        return self._zone.fromutc(plain.replace(tzinfo=self._zone)).replace(tzinfo=self)

    def __copy__(self) -> ZoneInfo:
        return self

    def __deepcopy__(self, _memo: Any) -> ZoneInfo:
        return self

    def __str__(self) -> str:
        return self._key

    def __repr__(self) -> str:
        return f"zoneinfo.ZoneInfo(key={self._key!r})"


def _zone_of(key: str) -> tzinfo:
    table = load_time_zones().get(key)
    if table is None:
        hint = did_you_mean(key, load_time_zones(), max_characters=None)
        raise _library().ZoneInfoNotFoundError(f"No time zone found with key {key:.80}{hint}")
    zone: tzinfo = _library().ZoneInfo.from_file(io.BytesIO(table), key=key)
    return zone


_DATE_FIELDS: Any = (date.year, date.month, date.day)
_TIME_FIELDS: Any = (datetime.hour, datetime.minute, datetime.second, datetime.microsecond)
_FOLD: Any = datetime.fold
_TZINFO: Any = datetime.tzinfo


def _plain(dt: datetime | None) -> datetime | None:
    # A subclass may override methods, and these must not get the library's zone.
    if dt is None:
        return None
    fields = [field.__get__(dt) for field in (*_DATE_FIELDS, *_TIME_FIELDS)]
    return datetime(*fields, fold=_FOLD.__get__(dt))


def _tzinfo_of(dt: datetime) -> tzinfo | None:
    found: tzinfo | None = _TZINFO.__get__(dt)
    return found


def available_timezones() -> set[str]:
    """`zoneinfo.available_timezones`."""
    return set(load_time_zones())


def zoneinfo_names(_context: Any) -> dict[str, Any]:
    """All names of `zoneinfo` in user space."""
    return {
        "ZoneInfo": ZoneInfo,
        "ZoneInfoNotFoundError": _library().ZoneInfoNotFoundError,
        "available_timezones": available_timezones,
    }
