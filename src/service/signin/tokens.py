"""Bearer tokens: JWTs with `exp`, `iss`, `aud`, `sub` and `role`, all of them required.

`agent`, the id of an agent, and `policy`, a policy, are not required: they confine a token.
Every check is made here, and any error means that nobody has signed in.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import jwt

from caps.agents.sign_in_settings import SignInSettings
from caps.protocol.errors import ConfigurationError
from caps.service.signin.keys import KeySource, NoKeyError
from caps.service.signin.roles import ROLES, Principal

MAX_TOKEN_BYTES: Final = 8192
MAX_PRINCIPAL_CHARACTERS: Final = 256
LEEWAY_SECONDS: Final = 10
_REQUIRED: Final = ["exp", "iss", "aud", "sub"]

logger = logging.getLogger(__name__)


class SignInError(Exception):
    """Nobody has signed in. `code` is stable; the text may be shown."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class TokenVerifier:
    """Verifies tokens: the issuer and the audience are fixed."""

    def __init__(self, keys: KeySource, settings: SignInSettings) -> None:
        self._keys = keys
        self._settings = settings

    async def principal(self, authorization: str | None) -> Principal:
        """Who the `Authorization` header names. Raises SignInError."""
        if authorization is None:
            raise SignInError("token_missing", "a bearer token is needed")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token or len(token) > MAX_TOKEN_BYTES:
            raise SignInError("token_invalid", "the header holds no bearer token")
        return _principal(await self._claims(token))

    async def _claims(self, token: str) -> dict[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
            key = await self._keys.find(header.get("kid"))
            return jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm],
                issuer=self._settings.issuer,
                audience=self._settings.audience,
                leeway=LEEWAY_SECONDS,
                options={"require": _REQUIRED},
            )
        except jwt.ExpiredSignatureError:
            raise SignInError("token_expired", "the token has expired") from None
        except NoKeyError as error:
            logger.warning("a token was refused: %s", error)
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            logger.info("a token was refused: %s", type(error).__name__)
        raise SignInError("token_invalid", "the token is not valid")


def _principal(claims: dict[str, Any]) -> Principal:
    name, role = claims["sub"], claims.get("role")
    if not isinstance(name, str) or not name.isprintable():
        raise SignInError("token_invalid", "`sub` of the token is not a printable name")
    if not 0 < len(name) <= MAX_PRINCIPAL_CHARACTERS:
        raise SignInError("token_invalid", "`sub` of the token is empty or too long")
    if not isinstance(role, str) or role not in ROLES:
        raise SignInError("token_invalid", f"`role` of the token is none of {', '.join(ROLES)}")
    agent, policy = claims.get("agent"), claims.get("policy")
    if agent is not None and not (isinstance(agent, str) and _is_id(agent)):
        raise SignInError("token_invalid", "`agent` of the token is not the id of an agent")
    if policy is not None and not isinstance(policy, dict):
        raise SignInError("token_invalid", "`policy` of the token is not an object")
    expires_at = int(claims["exp"])  # the library has checked that it is a number
    return Principal(name=name, role=ROLES[role], agent=agent, policy=policy, expires_at=expires_at)


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def make_token(
    secret: bytes,
    settings: SignInSettings,
    *,
    principal: str,
    role: str,
    seconds: int,
    agent: str | None = None,
    policy: Mapping[str, Any] | None = None,
) -> str:
    """A token for development. Raises ConfigurationError for what no verifier would accept."""
    issued = int(time.time())
    claims: dict[str, Any] = {
        "sub": principal,
        "role": role,
        "iss": settings.issuer,
        "aud": settings.audience,
        "iat": issued,
        "exp": issued + seconds,
    }
    confining = {"agent": agent, "policy": None if policy is None else dict(policy)}
    claims |= {name: value for name, value in confining.items() if value is not None}
    try:
        _principal(claims)
    except SignInError as error:
        raise ConfigurationError(str(error)) from None
    made = jwt.encode(claims, secret, algorithm="HS256")
    if len(made) > MAX_TOKEN_BYTES:
        raise ConfigurationError(f"the token would be over {MAX_TOKEN_BYTES} bytes")
    return made
