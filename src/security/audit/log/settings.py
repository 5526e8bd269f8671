"""(8) How a log is kept, from arguments or from the environment; a bad value is an error.

| variable | what it sets |
|---|---|
| CAPS_AUDIT_PATH | the directory of the log |
| CAPS_AUDIT_DURABILITY | `sync` or `os` |
| CAPS_AUDIT_CHECKPOINT_EVERY | records between two checkpoints |
| CAPS_AUDIT_CHECKPOINT_SECONDS | seconds until the last record is signed; 0: only by count |
| CAPS_AUDIT_CHECKPOINTS_TO | a directory that gets every checkpoint, too |
| CAPS_AUDIT_ROTATE_BYTES, CAPS_AUDIT_ROTATE_SECONDS | the bounds of one file; 0: none |
| CAPS_AUDIT_COMPRESS | `1`: files that are closed are compressed |
| CAPS_AUDIT_SINKS | further places, as URLs with spaces or newlines between them |
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from caps.protocol.errors import ConfigurationError
from caps.protocol.argument_checks import (
    can,
    refuse_unless,
    refuse_unless_seconds,
    refuse_unless_whole,
)
from caps.security.audit.log.rotation import NEVER, Rotation
from caps.security.audit.log.segment import Durability
from caps.security.audit.sinks.urls import SinkAddress, SinkKind, parse_sink
from caps.security.paths import state_directory

DEFAULT_CHECKPOINT_EVERY: Final = 1000
DEFAULT_CHECKPOINT_SECONDS: Final = 60.0
_MOST: Final = 2**53
# A file holds at least one record of the largest size.
_LEAST_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """Everything that can be chosen about a log."""

    directory: Path
    durability: Durability = Durability.SYNC
    checkpoint_every: int = DEFAULT_CHECKPOINT_EVERY
    checkpoint_seconds: float | None = DEFAULT_CHECKPOINT_SECONDS
    checkpoints_to: Path | None = None
    rotation: Rotation = NEVER
    compress: bool = False
    sinks: tuple[SinkAddress, ...] = field(default=())

    def __post_init__(self) -> None:
        """Paths and URLs may be given as texts, too. Raises `ConfigurationError`."""
        settle = functools.partial(object.__setattr__, self)
        settle("directory", Path(self.directory))
        if self.checkpoints_to is not None:
            settle("checkpoints_to", Path(self.checkpoints_to))
        given: tuple[SinkAddress | str, ...] = self.sinks
        settle("sinks", tuple(parse_sink(s) if isinstance(s, str) else s for s in given))

    @classmethod
    def from_environment(
        cls, directory: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> Self:
        """What the variables say. Raises `ConfigurationError` for what they cannot mean."""
        variables = os.environ if environment is None else environment
        seconds = _whole(variables, "CAPS_AUDIT_CHECKPOINT_SECONDS", 0)
        rotate_seconds = _whole(variables, "CAPS_AUDIT_ROTATE_SECONDS", 0)
        elsewhere = variables.get("CAPS_AUDIT_CHECKPOINTS_TO", "")
        return cls(
            directory=default_audit_directory() if directory is None else directory,
            durability=_durability(variables.get("CAPS_AUDIT_DURABILITY", "")),
            checkpoint_every=_whole(variables, "CAPS_AUDIT_CHECKPOINT_EVERY", 1)
            or DEFAULT_CHECKPOINT_EVERY,
            checkpoint_seconds=DEFAULT_CHECKPOINT_SECONDS if seconds is None else seconds or None,
            checkpoints_to=Path(elsewhere) if elsewhere else None,
            rotation=rotation_of(
                _whole(variables, "CAPS_AUDIT_ROTATE_BYTES", 0) or None, rotate_seconds or None
            ),
            compress=_flag(variables, "CAPS_AUDIT_COMPRESS"),
            sinks=tuple(parse_sink(url) for url in variables.get("CAPS_AUDIT_SINKS", "").split()),
        )

    @property
    def places(self) -> tuple[Path, ...]:
        """Every file or directory that holds what was recorded."""
        return log_places(self.directory, self.checkpoints_to, self.sinks)

    @property
    def uses_standard_output(self) -> bool:
        """Whether a sink writes to where the program itself may."""
        return any(sink.kind is SinkKind.STDOUT for sink in self.sinks)

    def with_sinks(self, urls: Sequence[str]) -> Self:
        """The same with more sinks. Raises `ConfigurationError`."""
        return replace(self, sinks=(*self.sinks, *map(parse_sink, urls)))


def refuse_foreign_settings(
    *,
    directory: object,
    durability: object,
    checkpoint_every: object,
    checkpoint_seconds: object,
    checkpoints_to: object,
    lock_seconds: object,
    rotation: object,
    compress: object,
    sinks: object,
    observer: object,
) -> None:
    """A ConfigurationError that names what no log can be opened with."""
    for name, value, fits, wanted in (
        ("directory", directory, isinstance(directory, Path), "a `Path`"),
        ("durability", durability, isinstance(durability, Durability), "a `Durability`"),
        (
            "checkpoints_to",
            checkpoints_to,
            checkpoints_to is None or isinstance(checkpoints_to, Path),
            "a `Path`",
        ),
        ("rotation", rotation, isinstance(rotation, Rotation), "a `Rotation`"),
        ("compress", compress, isinstance(compress, bool), "a `bool`"),
        ("sinks", sinks, _are_sinks(sinks), "a sequence of sinks as `parse_sink` makes them"),
        (
            "observer",
            observer,
            observer is None or can(observer, "sink_up", "sink_dropped"),
            "a `SinkObserver`",
        ),
    ):
        refuse_unless(fits, name, value, wanted)
    refuse_unless_whole("checkpoint_every", checkpoint_every, 1)
    refuse_unless_seconds("lock_seconds", lock_seconds)
    if checkpoint_seconds is not None:
        refuse_unless_seconds("checkpoint_seconds", checkpoint_seconds)


def _are_sinks(given: object) -> bool:
    return isinstance(given, (list, tuple)) and all(isinstance(one, SinkAddress) for one in given)


def log_places(
    directory: Path, checkpoints_to: Path | None, sinks: Sequence[SinkAddress]
) -> tuple[Path, ...]:
    """Where a log that is kept so puts its evidence, on this machine's file system."""
    files = [sink.place for sink in sinks if sink.place is not None]
    return (directory, *([] if checkpoints_to is None else [checkpoints_to]), *files)


def rotation_of(size: int | None, seconds: float | None) -> Rotation:
    """Raises `ConfigurationError` when a file would be too small to be one."""
    if size is None and seconds is None:
        return NEVER
    if size is not None and size < _LEAST_BYTES:
        raise ConfigurationError(
            f"CAPS_AUDIT_ROTATE_BYTES is `{size}`, which is too small; set {_LEAST_BYTES} or more"
        )
    return Rotation(bytes=size, seconds=seconds)


def default_audit_directory() -> Path:
    """`CAPS_AUDIT_PATH`, else `caps/audit` in the user's state directory (XDG)."""
    if configured := os.environ.get("CAPS_AUDIT_PATH"):
        return Path(configured)
    return state_directory() / "audit"


def _whole(variables: Mapping[str, str], name: str, least: int) -> int | None:
    text = variables.get(name, "")
    if not text:
        return None
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1
    if not least <= value <= _MOST:
        raise ConfigurationError(f"{name} is `{text}`; set a whole number from {least}")
    return value


def _durability(text: str) -> Durability:
    try:
        return Durability(text or "sync")
    except ValueError:
        raise ConfigurationError(f"CAPS_AUDIT_DURABILITY is `{text}`; set `sync` or `os`") from None


def _flag(variables: Mapping[str, str], name: str) -> bool:
    text = variables.get(name, "").lower()
    if text not in ("", "0", "1", "true", "false"):
        raise ConfigurationError(f"{name} is `{text}`; set `1` or `0`")
    return text in ("1", "true")
