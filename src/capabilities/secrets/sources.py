"""Where the values of secrets are: the environment of the host, or a directory of files.

A name has one spelling, so that `github` is `CAPS_SECRET_GITHUB` and the file `github`, and nothing
else is. A source answers None for a secret that it does not have; the next one is asked then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

from caps.protocol.disk.regular_files import read_regular
from caps.protocol.environment import Variable
from caps.protocol.errors import ProviderError
from caps.protocol.text import printable

ENVIRONMENT_PREFIX: Final = "CAPS_SECRET_"
MAX_SECRET_BYTES: Final = 64 * 1024
# A shorter value could not be masked without masking ordinary text.
MIN_SECRET_CHARACTERS: Final = 8
NAME_PATTERN: Final = r"^[a-z][a-z0-9_]{0,63}$"
_NAME: Final = re.compile(NAME_PATTERN.removeprefix("^").removesuffix("$"))


class SecretSource(Protocol):
    """One place that holds values. `read` blocks, so it is called in a thread."""

    def read(self, name: str) -> bytes | None:
        """The value; None if it is not here. ProviderError, without the value, if it fails."""


class EnvironmentSource:
    """`CAPS_SECRET_<NAME>`. Workers have no environment, so no code can read it there."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = os.environ if environment is None else environment

    def read(self, name: str) -> bytes | None:
        value = self._environment.get(f"{ENVIRONMENT_PREFIX}{name.upper()}")
        return None if value is None else value.encode("utf-8", "surrogateescape")


class DirectorySource:
    """One file for each secret, as Docker and Kubernetes mount them. A last newline is dropped."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, name: str) -> bytes | None:
        try:
            value = read_regular(self._directory / name, MAX_SECRET_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = error.strerror or "it failed"
            raise ProviderError(f"the secret `{name}` cannot be read: {reason.lower()}") from None
        return value.removesuffix(b"\n").removesuffix(b"\r")


def host_sources() -> tuple[SecretSource, ...]:
    """The sources of this host: its environment, then the directory `CAPS_SECRETS_PATH`."""
    directory = Variable.SECRETS_PATH.read()
    files = (DirectorySource(Path(directory)),) if directory else ()
    return (EnvironmentSource(), *files)


def checked_name(name: str) -> str:
    """Return `name` if a secret can have it; else raise ValueError."""
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"`{printable(name)}` is not a name of a secret; use [a-z][a-z0-9_]*")
    return name


def checked_value(name: str, value: bytes) -> str:
    """The value as text that can be sent and masked. ProviderError, without it, if it cannot."""
    if len(value) > MAX_SECRET_BYTES:
        raise ProviderError(f"the secret `{name}` is larger than {MAX_SECRET_BYTES} bytes")
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise ProviderError(f"the secret `{name}` is not UTF-8") from None
    if len(text) < MIN_SECRET_CHARACTERS:
        raise ProviderError(
            f"the secret `{name}` has fewer than {MIN_SECRET_CHARACTERS} characters; it could not "
            "be masked"
        )
    return text
