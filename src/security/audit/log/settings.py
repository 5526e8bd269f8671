"""(8) The settings of a log, from arguments or from the environment; a bad value is an error.

The variables are the `AUDIT_` rows of `protocol.environment`.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from caps.protocol.argument_checks import require, require_int, require_path, require_seconds
from caps.protocol.disk.state_directory import state_directory
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.security.audit.files.lock import DEFAULT_LOCK_SECONDS
from caps.security.audit.log.rotation import NEVER, Rotation
from caps.security.audit.sinks.urls import SinkAddress, SinkKind, parse_integer, parse_sink

DEFAULT_CHECKPOINT_EVERY: Final = 1000
DEFAULT_CHECKPOINT_SECONDS: Final = 60.0
_MAX: Final = 2**53
# A file holds at least one record of the largest size.
_MIN_BYTES: Final = 4096


class Durability(enum.Enum):
    """What a returned append promises."""

    SYNC = "sync"  # the record survives a power cut
    OS = "os"  # the record survives the process, not the machine


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """All settings of a log."""

    directory: Path
    durability: Durability = Durability.SYNC
    checkpoint_every: int = DEFAULT_CHECKPOINT_EVERY
    checkpoint_seconds: float | None = DEFAULT_CHECKPOINT_SECONDS
    checkpoints_to: Path | None = None
    lock_seconds: float = DEFAULT_LOCK_SECONDS
    """How long to wait for another process that writes the log."""
    rotation: Rotation = NEVER
    compress: bool = False
    sinks: tuple[SinkAddress, ...] = field(default=())

    def __post_init__(self) -> None:
        """Paths and URLs may also be given as strings. Raises `ConfigurationError`."""
        assign = functools.partial(object.__setattr__, self)
        assign("directory", require_path("directory", self.directory))
        if self.checkpoints_to is not None:
            assign("checkpoints_to", require_path("checkpoints_to", self.checkpoints_to))
        given: tuple[SinkAddress | str, ...] = self.sinks
        assign("sinks", tuple(parse_sink(s) if isinstance(s, str) else s for s in given))

    @classmethod
    def from_environment(
        cls, directory: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> Self:
        """Read the variables. Raises `ConfigurationError` for an invalid value."""
        seconds = _integer(Variable.AUDIT_CHECKPOINT_SECONDS, environment, 0)
        rotate_seconds = _integer(Variable.AUDIT_ROTATE_SECONDS, environment, 0)
        copies = Variable.AUDIT_CHECKPOINTS_TO.read(environment)
        return cls(
            directory=default_audit_directory() if directory is None else directory,
            durability=_durability(Variable.AUDIT_DURABILITY.read(environment)),
            checkpoint_every=_integer(Variable.AUDIT_CHECKPOINT_EVERY, environment, 1)
            or DEFAULT_CHECKPOINT_EVERY,
            checkpoint_seconds=DEFAULT_CHECKPOINT_SECONDS if seconds is None else seconds or None,
            checkpoints_to=Path(copies) if copies else None,
            rotation=_rotation(
                _integer(Variable.AUDIT_ROTATE_BYTES, environment, 0) or None,
                rotate_seconds or None,
            ),
            compress=_flag(Variable.AUDIT_COMPRESS, environment),
            sinks=tuple(map(parse_sink, Variable.AUDIT_SINKS.read(environment).split())),
        )

    @property
    def places(self) -> tuple[Path, ...]:
        """Every file or directory that holds recorded data."""
        copies = [] if self.checkpoints_to is None else [self.checkpoints_to]
        files = [sink.place for sink in self.sinks if sink.place is not None]
        return (self.directory, *copies, *files)

    @property
    def uses_standard_output(self) -> bool:
        """Whether a sink writes to the standard output of the program."""
        return any(sink.kind is SinkKind.STDOUT for sink in self.sinks)

    def with_sinks(self, urls: Sequence[str]) -> Self:
        """Return the same settings with more sinks. Raises `ConfigurationError`."""
        return replace(self, sinks=(*self.sinks, *map(parse_sink, urls)))


_TYPES: Final[dict[str, tuple[Any, str]]] = {
    "directory": (Path, "a `Path`"),
    "durability": (Durability, "a `Durability`"),
    "checkpoints_to": (Path | None, "a `Path`"),
    "rotation": (Rotation, "a `Rotation`"),
    "compress": (bool, "a `bool`"),
}


def checked_settings(
    given: AuditSettings | Path | None, fields: Mapping[str, Any]
) -> AuditSettings:
    """Settings from an `AuditSettings`, or from a directory, with further fields by name.

    Raises `ConfigurationError` for a value of a wrong type. Unlike in `AuditSettings`, a field by
    name is not converted: a path must be a `Path`.
    """
    if isinstance(given, AuditSettings):
        start = {name: getattr(given, name) for name in AuditSettings.__dataclass_fields__}
    else:
        start = {"directory": given, "checkpoint_seconds": None}
    values = {**start, **fields}
    for name, (kind, expected) in _TYPES.items():
        if name in values:
            require(isinstance(values[name], kind), name, values[name], expected)
    sinks = values.get("sinks", ())
    known = isinstance(sinks, (list, tuple)) and all(isinstance(s, SinkAddress) for s in sinks)
    require(known, "sinks", sinks, "a sequence of sinks as `parse_sink` makes them")
    require_int("checkpoint_every", values.get("checkpoint_every", DEFAULT_CHECKPOINT_EVERY), 1)
    require_seconds("lock_seconds", values.get("lock_seconds", DEFAULT_LOCK_SECONDS))
    if values["checkpoint_seconds"] is not None:
        require_seconds("checkpoint_seconds", values["checkpoint_seconds"])
    rotation = values.get("rotation", NEVER)
    if rotation.bytes is not None:
        require_int("bytes of the rotation", rotation.bytes, 1)
    if rotation.seconds is not None:
        require_seconds("seconds of the rotation", rotation.seconds)
    return AuditSettings(**values)


def _rotation(size: int | None, seconds: float | None) -> Rotation:
    if size is None and seconds is None:
        return NEVER
    if size is not None and size < _MIN_BYTES:
        raise ConfigurationError(
            f"{Variable.AUDIT_ROTATE_BYTES.key} is `{size}`, which is too small; "
            f"set {_MIN_BYTES} or more"
        )
    return Rotation(bytes=size, seconds=seconds)


def default_audit_directory() -> Path:
    """Return `CAPS_AUDIT_PATH`, or `caps/audit` in the user's state directory (XDG)."""
    if configured := Variable.AUDIT_PATH.read():
        return Path(configured)
    return state_directory() / "audit"


def _integer(variable: Variable, environment: Mapping[str, str] | None, least: int) -> int | None:
    text = variable.read(environment)
    if not text:
        return None
    value = parse_integer(text, least, _MAX)
    if value is None:
        raise ConfigurationError(f"{variable.key} is `{text}`; set an integer from {least}")
    return value


def _durability(text: str) -> Durability:
    try:
        return Durability(text or "sync")
    except ValueError:
        raise ConfigurationError(
            f"{Variable.AUDIT_DURABILITY.key} is `{text}`; set `sync` or `os`"
        ) from None


def _flag(variable: Variable, environment: Mapping[str, str] | None) -> bool:
    text = variable.read(environment).lower()
    if text not in ("", "0", "1", "true", "false"):
        raise ConfigurationError(f"{variable.key} is `{text}`; set `1` or `0`")
    return text in ("1", "true")
