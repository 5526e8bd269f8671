"""Keys are written and read as the cryptography library writes and reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from hypothesis import given
from hypothesis import strategies as st

from caps.security.audit.signing.pem import private_pem, public_pem, read_private, read_public
from support.hypothesis_examples import examples

EXAMPLES = examples(300)
KEYS = st.binary(min_size=32, max_size=32).map(Ed25519PrivateKey.from_private_bytes)
# Where bytes of the text are replaced, how many of them, and by what.
CHANGES = st.tuples(
    st.integers(0, 130),
    st.integers(0, 3),
    st.one_of(st.sampled_from([b"", b"\n", b"\r\n", b" ", b"=", b"A"]), st.binary(max_size=3)),
)


def library_private_pem(key: Any) -> bytes:
    written: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return written


def library_public_pem(key: Any) -> bytes:
    written: bytes = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return written


def found(read: Callable[[bytes], object], text: bytes) -> bytes | str:
    """The key that `read` finds in `text`, or the error with which it refuses it."""
    try:
        key = read(text)
    except (TypeError, ValueError, UnsupportedAlgorithm) as error:
        return type(error).__name__
    if isinstance(key, Ed25519PrivateKey):
        return key.private_bytes_raw()
    return key.public_bytes_raw() if isinstance(key, Ed25519PublicKey) else type(key).__name__


@EXAMPLES
@given(KEYS)
def test_a_key_is_written_as_the_library_writes_it(key: Ed25519PrivateKey) -> None:
    """The same bytes, which are read as the same key."""
    private, public = private_pem(key), public_pem(key.public_key())
    assert private == library_private_pem(key)
    assert public == library_public_pem(key.public_key())
    assert found(read_private, private) == key.private_bytes_raw()
    assert found(read_public, public) == key.public_key().public_bytes_raw()


@EXAMPLES
@given(KEYS, CHANGES)
def test_text_that_differs_is_read_as_the_library_reads_it(
    key: Ed25519PrivateKey, change: tuple[int, int, bytes]
) -> None:
    """It finds the same key in it, or both refuse it."""
    at, size, new = change
    for text, read, library in (
        (private_pem(key), read_private, lambda text: load_pem_private_key(text, None)),
        (public_pem(key.public_key()), read_public, load_pem_public_key),
    ):
        changed = text[:at] + new + text[at + size :]
        assert found(read, changed) == found(library, changed)


def test_keys_of_other_kinds_are_read_by_the_library() -> None:
    """The caller refuses them, and says why."""
    other = generate_private_key(SECP256R1())
    assert found(read_private, library_private_pem(other)) == type(other).__name__
    assert found(read_public, library_public_pem(other.public_key())) == "ECPublicKey"
