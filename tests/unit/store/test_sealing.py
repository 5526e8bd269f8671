"""Secrets at rest, and the key that they are sealed with."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec
import pytest

from caps.protocol.errors import ConfigurationError
from caps.store import StoreError
from caps.store.sealing import SealedSecret, SecretBox, load_secret_box

BOX = SecretBox(b"k" * 32)


@pytest.mark.parametrize("value", [b"", b"hunter2", bytes(100_000)])
def test_what_is_sealed_opens(value: bytes) -> None:
    """With another nonce each time, and nothing of the value in it."""
    sealed = [BOX.seal("ann", "token", value) for _ in range(2)]
    assert [BOX.open("ann", "token", each) for each in sealed] == [value, value]
    assert sealed[0].nonce != sealed[1].nonce
    assert sealed[0].ciphertext != sealed[1].ciphertext


@pytest.mark.parametrize(
    ("owner", "name"), [("bob", "token"), ("ann", "other"), ("annt", "oken"), ("", "anntoken")]
)
def test_it_opens_only_for_its_owner_and_name(owner: str, name: str) -> None:
    """Also if both together read the same."""
    with pytest.raises(StoreError, match="changed outside of caps"):
        BOX.open(owner, name, BOX.seal("ann", "token", b"hunter2"))


@pytest.mark.parametrize("field", ["ciphertext", "nonce"])
def test_a_changed_row_does_not_open(field: str) -> None:
    """One bit is enough, and the error has nothing of the value."""
    sealed = BOX.seal("ann", "token", b"hunter2")
    data = bytearray(getattr(sealed, field))
    data[0] ^= 1
    with pytest.raises(StoreError) as raised:
        BOX.open("ann", "token", msgspec.structs.replace(sealed, **{field: bytes(data)}))
    assert "hunter2" not in str(raised.value)


def test_another_key_is_named() -> None:
    """The operator set the wrong file, or lost one."""
    sealed = SecretBox(b"o" * 32).seal("ann", "token", b"hunter2")
    with pytest.raises(StoreError, match=rf"sealed with the key `{sealed.key_id}`"):
        BOX.open("ann", "token", sealed)
    assert isinstance(sealed, SealedSecret)


def test_a_box_does_not_show_its_key() -> None:
    """Its id is a digest."""
    assert repr(BOX) == f"SecretBox(key_id={BOX.key_id!r})"
    assert "6b6b" not in BOX.key_id


class TestKeyFile:
    @pytest.fixture(autouse=True)
    def _state(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        monkeypatch.delenv("CAPS_STORE_KEY_FILE", raising=False)

    def test_it_is_created_on_first_use_for_its_owner_only(self, tmp_path: Path) -> None:
        """And read again later."""
        first = load_secret_box()
        file = tmp_path / "caps" / "store.key"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert load_secret_box().key_id == first.key_id

    def test_one_that_is_named_must_exist(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A misspelt name must not make a new key."""
        file = tmp_path / "own.key"
        monkeypatch.setenv("CAPS_STORE_KEY_FILE", str(file))
        with pytest.raises(ConfigurationError, match="cannot be read: no such file"):
            load_secret_box()
        assert not file.exists()
        file.write_text("6b" * 32)
        file.chmod(0o640)
        assert load_secret_box().key_id == BOX.key_id

    @pytest.mark.parametrize("content", ["", "6b" * 31, "zz" * 32, "\udcff"])
    def test_a_file_that_is_no_key_is_refused(self, tmp_path: Path, content: str) -> None:
        """Without showing what is in it."""
        load_secret_box()
        (tmp_path / "caps" / "store.key").write_bytes(content.encode("utf-8", "surrogateescape"))
        with pytest.raises(ConfigurationError, match=r"32 bytes") as raised:
            load_secret_box()
        assert "6b6b" not in str(raised.value)

    def test_a_file_that_every_user_can_read_is_refused(self, tmp_path: Path) -> None:
        """It says what to do."""
        load_secret_box()
        (tmp_path / "caps" / "store.key").chmod(0o644)
        with pytest.raises(ConfigurationError, match="run `chmod 600` on it"):
            load_secret_box()
