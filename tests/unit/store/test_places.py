"""Where the store is, and what of it may be shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from caps.protocol.errors import ConfigurationError
from caps.store.places import PostgresPlace, SqlitePlace, store_place


def test_by_default_it_is_a_file_in_the_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable overrides it, and an argument overrides both."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("CAPS_DATABASE_URL", raising=False)
    assert store_place() == SqlitePlace(tmp_path / "caps" / "caps.db")
    monkeypatch.setenv("CAPS_DATABASE_URL", "sqlite:////a/b.db")
    assert store_place() == SqlitePlace(Path("/a/b.db"))
    assert store_place("sqlite:////c.db") == SqlitePlace(Path("/c.db"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:hunter2@db.example:5433/caps", "postgresql://db.example:5433/caps"),
        ("postgres://ann:hunter2@db/caps?sslmode=require", "postgresql://db/caps"),
        ("postgresql+psycopg://db/caps?password=hunter2", "postgresql://db/caps"),
        ("postgresql://ann:hunter2@/caps?host=/run/pg", "postgresql:///run/pg/caps"),
        ("postgresql://ann:hunter2%40x@[::1]:5/caps", "postgresql://::1:5/caps"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    """Nor the user, nor an option."""
    place = store_place(url)
    assert isinstance(place, PostgresPlace)
    assert place.shown == shown
    assert "hunter2" not in repr(place)
    assert place.url.drivername == "postgresql+psycopg"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("caps.db", "is not the URL of a database"),
        ("postgresql://ann:hunter2@db:port/caps", "is not the URL of a database"),
        ("mysql://ann:hunter2@db/caps", "names neither PostgreSQL nor SQLite"),
        ("postgresql+asyncpg://ann:hunter2@db/caps", "names neither PostgreSQL nor SQLite"),
        ("postgresql://ann:hunter2@db", "names no database"),
        ("postgresql://ann:hun@ter2@db/caps", "has an impossible host"),
        ("sqlite://", "by its absolute path"),
        ("sqlite:///:memory:", "by its absolute path"),
        ("sqlite:///relative.db", "by its absolute path"),
        ("sqlite:////a.db?mode=ro", "SQLite takes none here"),
    ],
)
def test_any_other_url_is_refused(url: str, message: str) -> None:
    """In one line that shows an example and nothing of the URL."""
    with pytest.raises(ConfigurationError) as raised:
        store_place(url)
    assert message in raised.value.message
    assert "hunter2" not in raised.value.message
    assert "ter2" not in raised.value.message
    assert raised.value.message.isprintable()
