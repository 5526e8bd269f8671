"""Tokens: what the key says is the only algorithm, and every claim is required."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from jwt.algorithms import OKPAlgorithm, RSAAlgorithm

from caps.agents.sign_in_settings import SignInSettings
from caps.protocol.errors import ConfigurationError
from caps.service.signin.keys import JwksFile, JwksUrl, KeySource, SharedSecret, key_source
from caps.service.signin.roles import Principal, Role
from caps.service.signin.tokens import SignInError, TokenVerifier, make_token
from support.service_process import SECRET, claims, token

pytestmark = pytest.mark.anyio

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EDWARDS = ed25519.Ed25519PrivateKey.generate()


def key_set(*names: str) -> str:
    made = {
        "rsa": {**RSAAlgorithm.to_jwk(RSA.public_key(), as_dict=True), "kid": "rsa"},
        "edwards": {**OKPAlgorithm.to_jwk(EDWARDS.public_key(), as_dict=True), "kid": "edwards"},
        "secret": {
            "kty": "oct",
            "k": base64.urlsafe_b64encode(SECRET.encode()).decode(),
            "kid": "secret",
        },
    }
    return json.dumps({"keys": [made[name] for name in names]})


def signed(key: Any, algorithm: str, key_id: str, **changed: Any) -> str:
    return jwt.encode(claims(**changed), key, algorithm=algorithm, headers={"kid": key_id})


def confused(public: bytes) -> str:
    """A token whose HS256 secret is the public key; the library refuses to make one."""
    parts = ({"alg": "HS256", "kid": "rsa"}, claims())
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts]
    body = b".".join(encoded)
    signature = hmac.new(public, body, hashlib.sha256).digest()
    return b".".join((body, base64.urlsafe_b64encode(signature).rstrip(b"="))).decode()


async def principal(keys: KeySource, given: str) -> Principal:
    return await TokenVerifier(keys, SignInSettings()).principal(f"Bearer {given}")


async def test_a_token_of_the_secret_names_its_principal() -> None:
    """Its role, and when it expires."""
    until = int(time.time()) + 100
    found = await principal(SharedSecret(SECRET.encode()), token(role="viewer", exp=until))
    assert found == Principal(name="ada", role=Role.VIEWER, expires_at=until)


async def test_keys_of_a_file_verify_their_own_algorithm(tmp_path: Path) -> None:
    """RSA keys RS256, Ed25519 keys EdDSA, and nothing else."""
    place = tmp_path / "jwks.json"
    place.write_text(key_set("rsa", "edwards", "secret"))
    keys = JwksFile(place)
    assert (await principal(keys, signed(RSA, "RS256", "rsa"))).name == "ada"
    assert (await principal(keys, signed(EDWARDS, "EdDSA", "edwards"))).name == "ada"
    public = RSA.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for bad in (
        signed(RSA, "RS512", "rsa"),
        signed(RSA, "PS256", "rsa"),
        confused(public),
        signed(SECRET, "HS256", "secret"),  # a secret in a set of public keys
        signed(EDWARDS, "EdDSA", "rsa"),
        signed(RSA, "RS256", "unknown"),
    ):
        with pytest.raises(SignInError) as refused:
            await principal(keys, bad)
        assert refused.value.code == "token_invalid"


async def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    """Keys are rotated without a restart; a file that cannot be read verifies nothing."""
    place = tmp_path / "jwks.json"
    place.write_text(key_set("rsa"))
    keys, one, other = (
        JwksFile(place),
        signed(RSA, "RS256", "rsa"),
        signed(EDWARDS, "EdDSA", "edwards"),
    )
    assert (await principal(keys, one)).name == "ada"
    replacement = tmp_path / "new.json"
    replacement.write_text(key_set("edwards"))
    replacement.rename(place)
    assert (await principal(keys, other)).name == "ada"
    with pytest.raises(SignInError):
        await principal(keys, one)
    place.unlink()
    with pytest.raises(SignInError):
        await principal(keys, other)


@pytest.fixture
def key_server() -> Iterator[str]:
    """The URL of a key set on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(key_set("rsa").encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


async def test_keys_of_a_url(key_server: str) -> None:
    """A server that cannot be reached verifies nothing."""
    keys = JwksUrl(key_server)
    assert (await principal(keys, signed(RSA, "RS256", "rsa"))).name == "ada"
    with pytest.raises(SignInError):
        await principal(keys, signed(EDWARDS, "EdDSA", "edwards"))
    with pytest.raises(SignInError):
        await principal(JwksUrl("http://127.0.0.1:9/"), signed(RSA, "RS256", "rsa"))


@pytest.mark.parametrize("header", ["", "Bearer", "Basic YTpi", "Bearer " + "x" * 9000])
async def test_what_holds_no_token_is_refused(header: str) -> None:
    """One that is too long is not even parsed."""
    with pytest.raises(SignInError):
        await TokenVerifier(SharedSecret(SECRET.encode()), SignInSettings()).principal(header)


async def test_a_token_for_development_is_accepted() -> None:
    """By a verifier of the same terms."""
    made = make_token(SECRET.encode(), SignInSettings(), principal="ada", role="runner", seconds=60)
    found = await principal(SharedSecret(SECRET.encode()), made)
    assert (found.name, found.role) == ("ada", Role.RUNNER)
    assert found.expires_at == jwt.decode(made, options={"verify_signature": False})["exp"]


def test_the_key_is_what_the_operator_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at once, a short secret and keys over plain HTTP are refused."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    keys, is_configured = key_source()
    assert isinstance(keys, SharedSecret)
    assert not is_configured
    assert (tmp_path / "caps/service.key").stat().st_mode & 0o777 == 0o600
    secret = tmp_path / "secret"
    secret.write_text("short")
    monkeypatch.setenv("CAPS_TOKEN_SECRET_FILE", str(secret))
    with pytest.raises(ConfigurationError, match="too short"):
        key_source()
    secret.write_text(SECRET)
    assert key_source()[1]
    monkeypatch.setenv("CAPS_TOKEN_JWKS", "https://keys.example.org/jwks")
    with pytest.raises(ConfigurationError, match="exclude each other"):
        key_source()
    monkeypatch.delenv("CAPS_TOKEN_SECRET_FILE")
    assert isinstance(key_source()[0], JwksUrl)
    for place in ("http://keys.example.org/jwks", "file:///etc/keys", str(tmp_path / "absent")):
        monkeypatch.setenv("CAPS_TOKEN_JWKS", place)
        with pytest.raises(ConfigurationError):
            key_source()
