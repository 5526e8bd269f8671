"""Sessions and their files by the clients: bytes both ways, at known versions, bounded."""

from __future__ import annotations

import uuid

import pytest

from caps.client import (
    AnswerInvalidError,
    AsyncClient,
    ChangedError,
    Client,
    ConflictError,
    NotFoundError,
    RequestInvalidError,
)
from support.service_process import ServiceProcess, token

DATA = bytes(range(256))


@pytest.fixture
def session() -> str:
    return f"work {uuid.uuid4().hex[:8]}"


def test_a_file_is_written_read_replaced_and_deleted(client: Client, session: str) -> None:
    """Only at the version that the caller knows."""
    first = client.upload_file(session, "/docs/a b.bin", DATA)
    assert (first.created, first.size_bytes, first.path) == (True, 256, "/docs/a b.bin")
    got = client.download_file(session, "docs/a b.bin")
    assert (got.content, got.etag) == (DATA, first.etag)
    with pytest.raises(ConflictError):
        client.upload_file(session, "docs/a b.bin", b"x")
    with pytest.raises(ChangedError) as caught:
        client.upload_file(session, "docs/a b.bin", b"x", if_match='"99"')
    assert caught.value.problem.code == "file_changed"
    second = client.upload_file(session, "docs/a b.bin", b"", if_match=first.etag)
    assert second.created is False
    assert client.download_file(session, "docs/a b.bin").content == b""
    with pytest.raises(ChangedError):
        client.delete_file(session, "docs/a b.bin", if_match=first.etag)
    client.delete_file(session, "docs/a b.bin", if_match=second.etag)
    with pytest.raises(NotFoundError):
        client.download_file(session, "docs/a b.bin")


def test_sessions_and_directories_are_listed(client: Client, session: str) -> None:
    """In order; a listing goes on after a name."""
    for name in ("one", "two", "dir/three"):
        client.upload_file(session, name, b"1")
    assert session in [each.name for each in client.sessions(limit=1)]
    listed = client.list_files(session)
    assert [(each.name, each.is_directory) for each in listed.entries] == [
        ("dir", True),
        ("one", False),
        ("two", False),
    ]
    assert [each.name for each in client.list_files(session, after="one").entries] == ["two"]
    assert [each.path for each in client.list_files(session, "/dir").entries] == ["/dir/three"]


def test_sizes_are_bounded(client: Client, session: str) -> None:
    """A download by the caller, an upload by the service; an error is read in any case."""
    client.upload_file(session, "a", DATA)
    assert client.download_file(session, "a", max_bytes=256).content == DATA
    with pytest.raises(AnswerInvalidError, match="larger than 255 bytes"):
        client.download_file(session, "a", max_bytes=255)
    with pytest.raises(NotFoundError):
        client.download_file(session, "none", max_bytes=1)
    with pytest.raises(RequestInvalidError) as caught:
        client.upload_file(session, "b", bytes(9 * 1024 * 1024))
    assert caught.value.problem.status == 413


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_other_client_does_the_same(service: ServiceProcess, session: str) -> None:
    async with AsyncClient(service.address, token=token()) as client:
        written = await client.upload_file(session, "a", DATA)
        with pytest.raises(AnswerInvalidError):
            await client.download_file(session, "a", max_bytes=1)
        assert (await client.download_file(session, "a")).etag == written.etag
        assert session in [each.name async for each in client.sessions(limit=2)]
        await client.delete_file(session, "a")
        assert (await client.list_files(session)).entries == ()
