"""Converting HTML: awkward pages have the expected results, hostile ones end at their bounds."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio
import pytest

from caps.protocol.errors import ProviderError
from caps.providers.web.conversion import converters as converter
from caps.providers.web.conversion.converters import Converters, open_converters
from support.web_calls import policy, web_calls
from support.web_servers import WebServer

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PAGES = Path(__file__).with_name("pages")
# `CAPS_WRITE_EXPECTED=1` writes the expected files again, to be read before they are committed.
WRITE = os.environ.get("CAPS_WRITE_EXPECTED") == "1"


def test_there_are_twenty_pages() -> None:
    """Each with what it becomes."""
    names = sorted(page.stem for page in PAGES.glob("*.html"))
    assert len(names) >= 20
    assert sorted(page.stem for page in PAGES.glob("*.md")) == names
    assert sorted(page.stem for page in PAGES.glob("*.txt")) == names


@pytest.mark.parametrize(("form", "suffix"), [("markdown", ".md"), ("text", ".txt")])
@pytest.mark.spec("004-web-elements")
@pytest.mark.spec("004-web-predictable")
@pytest.mark.spec("004-web-provides")
@pytest.mark.spec("004-web-consistent")
@pytest.mark.spec("004-web-licensing")
async def test_awkward_pages(form: Literal["markdown", "text"], suffix: str) -> None:
    """As the expected files say, byte for byte."""
    async with open_converters() as converters:
        different = []
        for page in sorted(PAGES.glob("*.html")):
            found = await converters.convert("tester", page.read_text(), form)
            expected = page.with_suffix(suffix)
            if WRITE:
                expected.write_text(found)
            if found != expected.read_text():
                different.append((page.name, found))
    assert different == []


HOSTILE = {
    "deep": "<div>" * 200_000,
    "deep inline": "<b><i>" * 100_000,
    "deep lists": "<ul><li>" * 50_000 + "x",
    "deep tables": "<table><tr><td>" * 30_000,
    "deep quotes": "<blockquote>" * 100_000 + "x",
    "many attributes": "<p " + " ".join(f"a{n}=b" for n in range(50_000)) + ">x",
    "unclosed": "<" * 500_000,
    "entities": "&" * 300_000 + "&amp;" * 100_000,
    "comment": "<!--" * 100_000,
    "cdata": "<![CDATA[" * 50_000,
    "misnested": "<a><b><p>" * 30_000 + "</a></b>" * 30_000,
    "wide table": "<table><tr>" + "<td>x" * 50_000,
    "long line": "x" * 3_000_000,
    "nul": "a\0b<p>\0</p>",
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_pages_end(name: str) -> None:
    """With a result or an error, within the time, and the next page is converted."""
    async with open_converters() as converters:
        with anyio.fail_after(converter.CONVERSION_SECONDS + 20):
            with contextlib.suppress(ProviderError):  # too slow, or too much
                await converters.convert("tester", HOSTILE[name], "markdown")
        assert await converters.convert("tester", "<p>next</p>", "text") == "next\n"


@asynccontextmanager
async def child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> AsyncIterator[Converters]:
    """Converters whose processes answer that they are ready, and then do `body`."""
    program = tmp_path / "child.py"
    ready = "import sys, os\nsys.stdout.buffer.write(b'\\1\\0\\0\\0\\0')\nsys.stdout.flush()\n"
    program.write_text(ready + body)
    monkeypatch.setattr(converter, "_CHILD", program)
    async with open_converters() as found:
        yield found


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.stdin.read()", "took longer than 0.3 seconds"),
        ("sys.stdin.buffer.read(1); os.abort()", "cannot be converted"),
        ("sys.stdout.buffer.write(b'\\1\\xff\\xff\\xff\\xff'); sys.stdout.flush()", "cannot be"),
        ("sys.stdout.buffer.write(b'\\2\\0\\0\\0\\0'); sys.stdout.flush()", "cannot be converted"),
    ],
)
async def test_a_process_that_hangs_crashes_or_says_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, message: str
) -> None:
    """The page has an error, and its process is gone."""
    async with child(tmp_path, monkeypatch, body) as converters:
        with pytest.raises(ProviderError, match=message):
            await converters.convert("tester", "<p>x</p>", "markdown", seconds=0.3)
        assert [each for each in converters._idle if each.pages == 0] == []


async def test_a_converter_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is an error of the host."""
    monkeypatch.setattr(converter, "_CHILD", Path("/nonexistent"))
    async with open_converters() as converters:
        with pytest.raises(ProviderError, match="does not start on this host"):
            await converters.convert("tester", "<p>x</p>", "markdown")


async def test_the_process_has_no_environment_and_little_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No variables, three descriptors, bounded memory."""
    monkeypatch.setenv("CAPS_SECRET_GITHUB", "a secret value")
    async with open_converters() as converters:
        await converters.convert("tester", "<p>x</p>", "markdown")
        (one,) = converters._idle
        proc = Path(f"/proc/{one._process.pid}")
        assert (proc / "environ").read_bytes() == b""
        assert sorted(each.name for each in (proc / "fd").iterdir()) == ["0", "1", "2"]
        limits = (proc / "limits").read_text()
    assert f"{1024**3}" in limits
    assert not proc.exists()


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.spec("004-web-purpose")
@pytest.mark.spec("004-web-as-markdown")
@pytest.mark.spec("004-web-as-text")
@pytest.mark.spec("004-web-r-format")
@pytest.mark.spec("004-web-built-in")
async def test_fetched_pages_are_converted() -> None:
    """HTML only; markdown wins over text."""
    with WebServer() as server:
        page = server.page("/", "<h1>Hi</h1><script>x</script><p>there <b>you</b></p>")
        text = server.page("/t", "<h1>no html</h1>", "text/plain")
        async with web_calls(policy(server.port)) as calls:
            both = await calls.fetch(page, as_markdown=True, as_text=True)
            plain = await calls.fetch(page, as_text=True)
            other = await calls.fetch(text, as_markdown=True)
    assert (both["format"], both["content"]) == ("markdown", "# Hi\n\nthere **you**\n")
    assert (plain["format"], plain["content"]) == ("text", "Hi\n\nthere you\n")
    assert (other["format"], other["content"]) == ("raw", "<h1>no html</h1>")


async def test_a_partial_page_is_converted_before_its_suffix() -> None:
    """The suffix is not part of the markup."""
    with WebServer() as server:
        page = server.page("/", "<h1>Hi</h1><p>" + "x" * 1000)
        async with web_calls(policy(server.port, max_bytes=20)) as calls:
            answer = await calls.fetch(page, as_markdown=True)
    assert answer["content"] == (
        "# Hi\n\nxxxxxx\n\n\n[..more content left out, the policy allows 20 bytes...]"
    )
    assert answer["truncated"]


async def test_a_process_converts_the_pages_of_one_principal() -> None:
    """Another one gets another process; there are never more than the bound."""
    async with open_converters() as converters:
        pids = {}
        for principal in ("ada", "eve", "ada", "joe", "eve"):
            await converters.convert(principal, "<p>x</p>", "text")
            pids[principal] = {each.principal: each._process.pid for each in converters._idle}
            assert len(converters._idle) <= converter.CONVERTERS
        assert pids["ada"]["ada"] != pids["eve"]["eve"] != pids["joe"]["joe"]
        assert [each.principal for each in converters._idle] == ["joe", "eve"]


async def test_a_process_that_has_done_much_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its pages, and by its time."""
    for name, most in (("_PAGES_OF_ONE", 1), ("_SECONDS_OF_ONE", 0.0)):
        with monkeypatch.context() as patch:
            patch.setattr(converter, name, most)
            async with open_converters() as converters:
                assert await converters.convert("ada", "<p>x</p>", "text") == "x\n"
                assert converters._idle == []
