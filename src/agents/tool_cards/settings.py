"""The settings of tool cards: from the environment, or the configuration file."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import printable

MIN_SECRET_BYTES: Final = 16


class CardMode(enum.StrEnum):
    """What happens if a card fails its check at start-up."""

    OFF = "off"
    """Cards are not looked at; functions need none."""
    CHECK = "check"
    """As `refuse`, but a function that never had a card can be called."""
    QUARANTINE = "quarantine"
    """The card does not count, so its function is refused when it is called."""
    REFUSE = "refuse"
    """The program does not start."""


class CardSettings(msgspec.Struct, frozen=True, kw_only=True):
    mode: CardMode = CardMode.OFF
    signing_secret: bytes | None = None
    required_agents: tuple[str, ...] = ()

    def __repr__(self) -> str:
        secret = "None" if self.signing_secret is None else "(masked)"
        agents = list(self.required_agents)
        return f"CardSettings(mode={self.mode.value!r}, signing_secret={secret}, {agents=})"

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] | None = None, *, default: CardMode = CardMode.OFF
    ) -> CardSettings:
        """The settings of this process, with this mode if none is set. ConfigurationError."""
        return cls(
            mode=_mode(Variable.CAPABILITY_CARDS.read(environment), default),
            signing_secret=_secret(Variable.SIGNING_SECRET.read(environment)),
            required_agents=tuple(Variable.REQUIRED_AGENTS.read(environment).split()),
        )


def _mode(text: str, default: CardMode) -> CardMode:
    try:
        return CardMode(text or default)
    except ValueError:
        modes = ", ".join(f"`{mode}`" for mode in CardMode)
        raise ConfigurationError(
            f"{Variable.CAPABILITY_CARDS.key} is `{printable(text, 80)}`; use one of {modes}"
        ) from None


def _secret(text: str) -> bytes | None:
    if not text:
        return None
    secret = text.encode("utf-8", "surrogateescape")
    if len(secret) < MIN_SECRET_BYTES:
        raise ConfigurationError(
            f"{Variable.SIGNING_SECRET.key} is shorter than {MIN_SECRET_BYTES} bytes; create one "
            "with `openssl rand -hex 32`"
        )
    return secret
