"""`web.fetch` against real servers on loopback: what it returns, and when it gives up."""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from caps.protocol.errors import PolicyDeniedError, ProviderError, ValidationError
from caps.providers.web import engine
from caps.providers.web.engine import Engine
from caps.providers.web.fetch import Timeouts
from caps.providers.web.page import BINARY, TIMED_OUT
from support.web_calls import Names, policy, web_calls
from support.web_servers import Authority, Exchange, WebServer

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as found:
        yield found


async def fetched(server: WebServer, url: str, **more: Any) -> Any:
    """The answer under a policy that allows this server."""
    async with web_calls(policy(server.port)) as calls:
        return await calls.fetch(url, **more)


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.spec("004-web-tool")
@pytest.mark.spec("004-web-parameters")
@pytest.mark.spec("004-web-url")
@pytest.mark.spec("004-web-returns")
@pytest.mark.spec("004-web-r-url")
@pytest.mark.spec("004-web-r-status")
@pytest.mark.spec("004-web-r-content-type")
@pytest.mark.spec("004-web-r-size")
@pytest.mark.spec("004-web-r-last-modified")
@pytest.mark.spec("004-web-r-format")
@pytest.mark.spec("004-web-r-content")
async def test_a_page_as_it_is(server: WebServer) -> None:
    """Every field of the answer."""
    url = server.page(
        "/docs/a.html",
        "<p>hi</p>",
        "text/html; charset=utf-8",
        last_modified="Wed, 21 Oct 2015 07:28:00 GMT",
    )
    assert await fetched(server, url) == {
        "url": url,
        "status_code": 200,
        "content_type": "text/html; charset=utf-8",
        "size": 9,
        "last_modified": "Wed, 21 Oct 2015 07:28:00 GMT",
        "filename": "a.html",
        "format": "raw",
        "content": "<p>hi</p>",
        "truncated": False,
    }


@pytest.mark.spec("004-web-method")
@pytest.mark.spec("004-web-r-content")
async def test_head_has_no_content(server: WebServer) -> None:
    """The size is the declared one."""
    url = server.page("/x", "twelve bytes", "text/plain")
    answer = await fetched(server, url, method="HEAD")
    assert (answer["status_code"], answer["size"], answer["format"]) == (200, 12, "raw")
    assert "content" not in answer
    assert server.seen[0].method == "HEAD"


async def test_an_error_page_is_an_answer(server: WebServer) -> None:
    """The status says so."""
    answer = await fetched(server, server.url("/missing"))
    assert (answer["status_code"], answer["content"]) == (404, "not found")


@pytest.mark.parametrize(
    "content_type", ["image/png", "application/pdf", "video/mp4", "application/octet-stream"]
)
@pytest.mark.spec("004-web-r-error")
@pytest.mark.spec("004-web-errors")
@pytest.mark.spec("004-web-binary")
@pytest.mark.spec("004-web-binary-text")
@pytest.mark.spec("004-web-metadata")
@pytest.mark.spec("004-web-understand")
async def test_binary_content_is_metadata_and_an_error(
    server: WebServer, content_type: str
) -> None:
    """The body is not read: one that never comes does not matter."""
    server.routes["/f"] = lambda exchange: exchange.send(
        f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: 5000\r\n"
        'content-disposition: attachment; filename="a.bin"\r\n\r\n'.encode()
    )
    answer = await fetched(server, server.url("/f"), as_markdown=True)
    assert answer["error"] == BINARY
    assert (answer["size"], answer["filename"], answer["format"]) == (5000, "a.bin", "raw")
    assert "content" not in answer


@pytest.mark.parametrize(
    "body", [b"\x89PNG\r\n\x1a\n" + b"x" * 50, b"text\0with nul", b"%PDF-1.7 x"]
)
async def test_binary_content_that_calls_itself_text(server: WebServer, body: bytes) -> None:
    """The bytes decide."""
    answer = await fetched(server, server.page("/a", body, "text/html"))
    assert (answer["error"], answer["size"]) == (BINARY, len(body))


@pytest.mark.spec("004-web-timeouts")
@pytest.mark.spec("004-web-first-byte")
@pytest.mark.spec("004-web-first-byte-error")
async def test_a_server_that_does_not_respond(server: WebServer) -> None:
    """The message of the specification, after the time of the specification."""
    url = server.route("/slow", Exchange.hang)
    assert Engine().timeouts == Timeouts(first_byte=1.0, body=30.0)
    async with web_calls(policy(server.port), timeouts=Timeouts()) as calls:
        with pytest.raises(ProviderError, match=r"^server did not respond within 1 second$"):
            await calls.fetch(url)


async def test_headers_that_never_end(server: WebServer) -> None:
    """Are no response, however many arrive."""

    def endless(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            exchange.send(b"x-more: " + b"y" * 1000 + b"\r\n")

    with pytest.raises(ProviderError, match="does not answer in valid HTTP"):
        await fetched(server, server.route("/", endless))


async def test_interim_responses_without_end(server: WebServer) -> None:
    """Are no response either."""

    def endless(exchange: Exchange) -> None:
        while True:
            exchange.send(b"HTTP/1.1 103 Early Hints\r\n\r\n")

    async with web_calls(policy(server.port), timeouts=Timeouts(first_byte=0.2)) as calls:
        with pytest.raises(ProviderError, match=r"did not respond within 0.2 seconds"):
            await calls.fetch(server.route("/", endless))


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.spec("004-web-body")
@pytest.mark.spec("004-web-r-truncated")
async def test_a_body_that_stops_arriving(server: WebServer) -> None:
    """What arrived, with the suffix of the specification."""

    def slow(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nthe beginning")
        exchange.hang()

    async with web_calls(policy(server.port), timeouts=Timeouts(body=0.3)) as calls:
        answer = await calls.fetch(server.route("/", slow))
    assert answer["content"] == "the beginning\n\n[..more content timed out...]"
    assert answer["content"].endswith(TIMED_OUT)
    assert (answer["truncated"], answer["size"]) == (True, 13)


async def test_the_time_of_the_call_ends_a_body_before_the_call(server: WebServer) -> None:
    """So that a partial answer is still an answer."""

    def slow(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nsome")
        exchange.hang()

    url = server.route("/", slow)
    async with web_calls(policy(server.port)) as calls:
        broker = calls.execution()
        broker.default_timeout_ms = 1000
        answer = await calls.fetch(url, broker)
    assert (answer["truncated"], answer["content"][:4]) == (True, "some")


async def test_a_body_without_end(server: WebServer) -> None:
    """Ends at `max_bytes`."""

    def endless(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        while True:
            exchange.send(b"a" * 65536)

    async with web_calls(policy(server.port, max_bytes=100_000)) as calls:
        answer = await calls.fetch(server.route("/", endless))
    assert (answer["truncated"], answer["size"]) == (True, 100_000)
    assert answer["content"].endswith("the policy allows 100000 bytes...]")


async def test_a_body_of_exactly_the_allowed_size(server: WebServer) -> None:
    """Is whole."""
    async with web_calls(policy(server.port, max_bytes=1000)) as calls:
        answer = await calls.fetch(server.page("/", b"a" * 1000, "text/plain"))
    assert (answer["truncated"], answer["size"], len(answer["content"])) == (False, 1000, 1000)


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\ncontent-type: text/plain\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 7\r\n\r\nxxxxxxx",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"garbage\r\n\r\n",
        b"",
    ],
)
async def test_servers_that_lie_about_the_message(server: WebServer, response: bytes) -> None:
    """Too short, negative, two lengths, no HTTP: an error that says so."""
    url = server.route("/", lambda exchange: exchange.send(response))
    with pytest.raises(ProviderError, match="valid HTTP"):
        await fetched(server, url)


async def test_a_server_that_sends_more_than_it_declares(server: WebServer) -> None:
    """The rest is never read."""
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-type: text/plain\r\n\r\n"
    url = server.route("/", lambda exchange: exchange.send(head + b"12345HTTP/1.1 200 OK\r\n\r\n"))
    assert (await fetched(server, url))["content"] == "12345"


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("gzip", lambda data: gzip.compress(data[:7]) + gzip.compress(data[7:])),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),
        ("identity", bytes),
    ],
)
async def test_compressed_content(server: WebServer, encoding: str, encode: Any) -> None:
    """gzip, also in members; deflate, also without its header."""
    text = b"hello " * 1000
    url = server.page("/", encode(text), "text/plain", content_encoding=encoding)
    answer = await fetched(server, url)
    assert (answer["content"].encode(), answer["size"]) == (text, 6000)
    assert server.seen[0].headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, gzip", "gzip, deflate"])
async def test_encodings_that_were_not_asked_for(server: WebServer, encoding: str) -> None:
    """Are refused, also several at once."""
    url = server.page("/", b"x", "text/plain", content_encoding=encoding)
    with pytest.raises(ProviderError, match="encoding that was not asked for"):
        await fetched(server, url)


@pytest.mark.parametrize("body", [b"not gzip", gzip.compress(b"x" * 1000, mtime=0)[:-9]])
async def test_compressed_content_that_is_broken(server: WebServer, body: bytes) -> None:
    """An error, and no half of a page."""
    url = server.page("/", body, "text/plain", content_encoding="gzip")
    with pytest.raises(ProviderError, match="compressed content that is not valid"):
        await fetched(server, url)


@pytest.mark.parametrize("size", [2_000_000, 50_000_000])
async def test_a_bomb_is_not_read(server: WebServer, size: int) -> None:
    """By its ratio: a thousand times its size."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = b"a" * 1_000_000
    bomb = b"".join(packer.compress(zeros) for _ in range(size // len(zeros))) + packer.flush()
    url = server.page("/", bomb, "text/plain", content_encoding="gzip")
    with pytest.raises(ProviderError, match="expands more than 200 times"):
        await fetched(server, url)


async def test_compressed_content_that_never_gives_any(server: WebServer) -> None:
    """The bytes on the wire have the same bound."""

    def endless(exchange: Exchange) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\n\r\n"
        exchange.send(head + b"\x1f\x8b\x08\x08\0\0\0\0\0\xff")  # a file name follows
        while True:
            exchange.send(b"n" * 65536)

    answer = await fetched(server, server.route("/", endless))
    assert (answer["truncated"], answer["size"]) == (True, 0)


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("text/plain", "grün €".encode(), "grün €"),
        ("text/plain; charset=latin-1", b"gr\xfcn \x80", "grün €"),
        ("text/plain", b"gr\xfcn", "grün"),
        ("text/plain; charset=unicode_escape", b"\\x41", "\\x41"),
        ("text/plain; charset=utf-7", b"+ADw-", "+ADw-"),
        ("text/html", b'<meta charset="shift_jis">\x83e', '<meta charset="shift_jis">テ'),
        ("text/plain", b"\xff\xfeh\0i\0", "hi"),
        ("text/plain; charset=utf-8", b"a\xffb", "a\N{REPLACEMENT CHARACTER}b"),
        ("", b"no type", "no type"),
        ("application/vnd.api+json", b"{}", "{}"),
    ],
)
async def test_encodings_of_text(
    server: WebServer, content_type: str, body: bytes, text: str
) -> None:
    """By the header, a mark, the page itself, or as UTF-8; never by a codec of Python alone."""
    assert (await fetched(server, server.page("/", body, content_type)))["content"] == text


@pytest.mark.parametrize(
    ("path", "disposition", "filename"),
    [
        ("/a/report.pdf", "", "report.pdf"),
        ("/a/", "", None),
        ("/a", "", None),
        ("/a%2Fb.txt", "", "b.txt"),
        ("/x", 'attachment; filename="a b.txt"', "a b.txt"),
        ("/x", "attachment; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ("/x", 'attachment; filename="../../etc/passwd"', "passwd"),
        ("/x", 'attachment; filename="..\\\\..\\\\x.exe"', "x.exe"),
        ("/x", 'attachment; filename="a\x01b"', "a_b"),
        ("/x", 'attachment; filename=".."', None),
        ("/x", "attachment; filename*=zip''abc", "abc"),
    ],
)
@pytest.mark.spec("004-web-r-filename")
async def test_file_names(
    server: WebServer, path: str, disposition: str, filename: str | None
) -> None:
    """From the header, else from the URL; never a directory."""
    url = server.page(path, "x", "text/plain", content_disposition=disposition)
    assert (await fetched(server, url)).get("filename") == filename


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http:///path",
        "http://user:pass@example.org/",
        "http://exa mple.org/",
        "http://example.org\\@evil.org/",
        "http://example.org:port/",
        "http://example.org:123456/",
        "http://[::1/",
        "https://example.org/\nHost: evil",
    ],
)
@pytest.mark.spec("004-web-invalid")
@pytest.mark.spec("004-web-url")
async def test_what_is_not_a_url_is_a_validation_error(url: str) -> None:
    """Before anything else is decided."""
    async with web_calls(policy()) as calls:
        with pytest.raises(ValidationError):
            await calls.fetch(url)


@pytest.mark.spec("004-web-network")
async def test_no_connection_and_no_host(server: WebServer) -> None:
    """Errors that name the host."""
    with WebServer() as other:
        port = other.port
    async with web_calls(policy(port), resolver=Names()) as calls:
        with pytest.raises(ProviderError, match=r"no connection to `127.0.0.1` can be made"):
            await calls.fetch(f"http://127.0.0.1:{port}/")
        with pytest.raises(ProviderError, match=r"there is no host `nowhere.test`"):
            await calls.fetch(f"http://nowhere.test:{port}/")


async def test_the_next_address_is_tried(server: WebServer) -> None:
    """A name may have one that does not answer."""
    url = server.page("/", "here", "text/plain").replace("127.0.0.1", "two.test")
    async with web_calls(
        policy(server.port), resolver=Names(two_test=["127.0.0.77", "127.0.0.1"])
    ) as calls:
        assert (await calls.fetch(url))["content"] == "here"
    assert server.seen[0].headers["host"] == f"two.test:{server.port}"


async def test_https_with_the_name_of_the_host() -> None:
    """The certificate must be of the name, not of the address that was connected to."""
    authority = Authority()
    with WebServer(authority.server("good.test")) as server:
        names = Names(good_test=["127.0.0.1"], bad_test=["127.0.0.1"])
        server.page("/", "secure", "text/plain")
        async with web_calls(policy(server.port), resolver=names, tls=authority.client()) as calls:
            answer = await calls.fetch(server.url("/", "good.test"))
            assert answer["content"] == "secure"
            with pytest.raises(ProviderError, match=r"certificate of `bad.test` is not trusted"):
                await calls.fetch(server.url("/", "bad.test"))


async def test_a_certificate_of_nobody_is_not_trusted() -> None:
    """Nothing switches that off."""
    with WebServer(Authority().server("good.test")) as server:
        server.page("/", "secure")
        names = Names(good_test=["127.0.0.1"])
        async with web_calls(policy(server.port), resolver=names) as calls:
            with pytest.raises(ProviderError, match=r"certificate of `good.test` is not trusted"):
                await calls.fetch(server.url("/", "good.test"))
    assert server.seen == []


async def test_plain_http_at_a_secure_port(server: WebServer) -> None:
    """Is an error of the connection."""
    server.greeting = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    url = server.page("/", "x").replace("http:", "https:")
    with pytest.raises(ProviderError, match=r"no secure connection to `127.0.0.1` can be made"):
        await fetched(server, url)


async def test_the_environment_has_no_say(
    server: WebServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """No proxy, no `.netrc`, no cookie."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    url = server.page("/", "x", "text/plain", set_cookie="a=b")
    async with web_calls(policy(server.port)) as calls:
        await calls.fetch(url)
        await calls.fetch(url)
    assert sorted(server.seen[1].headers) == [
        "accept",
        "accept-encoding",
        "connection",
        "host",
        "user-agent",
    ]


async def test_headers_of_the_caller(server: WebServer) -> None:
    """Are sent; those that it gives replace ours."""
    url = server.page("/", "x", "text/plain")
    await fetched(server, url, headers={"Accept": "text/x", "X-Token": "abc", "user-agent": "me"})
    sent = server.seen[0].headers
    assert (sent["accept"], sent["x-token"], sent["user-agent"]) == ("text/x", "abc", "me")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.test"},
        {"content-length": "5"},
        {"Transfer-Encoding": "chunked"},
        {"Connection": "upgrade"},
        {"Upgrade": "h2c"},
        {"Proxy-Authorization": "x"},
        {"X-Forwarded-For": "10.0.0.1"},
        {"X_Forwarded_For": "10.0.0.1"},
        {"Content_Length": "1"},
        {"Proxy": "http://10.0.0.1"},
        {"X-HTTP-Method-Override": "DELETE"},
        {"Range": "bytes=0-5"},
        {"Accept-Encoding": "br"},
        {"Expect": "100-continue"},
        {"TE": "trailers"},
        {"Sec-Fetch-Mode": "x"},
        {"X-A": "a\r\nX-B: c"},
        {"X-A": "a\nb"},
        {"X-A": "ä"},
        {"X A": "b"},
        {"": "b"},
        {"X-A:": "b"},
        {"x-a": "b", "X-A": "c"},
        {"X-A": "b" * 8193},
    ],
)
async def test_headers_that_may_not_be_set(server: WebServer, headers: dict[str, str]) -> None:
    """They decide how the message is read, or pretend something about the caller."""
    with pytest.raises(ValidationError):
        await fetched(server, server.page("/", "x"), headers=headers)
    assert server.seen == []


async def test_methods_hosts_ports_and_schemes_are_those_of_the_scope(server: WebServer) -> None:
    """Each is refused by the decision, before a connection."""
    url = server.page("/", "x")
    cases: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
        ({"methods": ["HEAD"]}, "scopes.web.methods", {}),
        ({"schemes": ["https"]}, "scopes.web.schemes", {}),
        ({"hosts": ["example.org"]}, "scopes.web.hosts", {}),
        ({"loopback": False}, "scopes.web.loopback", {}),
    ]
    for scope, rule, more in cases:
        async with web_calls(policy(server.port, **scope)) as calls:
            with pytest.raises(PolicyDeniedError):
                await calls.fetch(url, **more)
            assert [each.rule for each in calls.decisions] == [rule]
    async with web_calls(policy()) as calls:
        with pytest.raises(PolicyDeniedError, match=f"the port {server.port} is not allowed"):
            await calls.fetch(url)
    assert server.seen == []


async def test_every_policy_must_allow(server: WebServer) -> None:
    """Names, addresses and sizes: the narrowest counts, and the refusal names its policy."""
    url = server.page("/", "x" * 100, "text/plain").replace("127.0.0.1", "one.test")
    names = Names(one_test=["127.0.0.1"])
    wide = {**policy(server.port), "id": "wide"}
    small = {**policy(server.port, max_bytes=10), "id": "small"}
    public = {**policy(server.port, loopback=False), "id": "public"}
    async with web_calls(wide, small, resolver=names) as calls:
        assert (await calls.fetch(url))["size"] == 10
    for chain in ((wide, public), (public, wide)):
        async with web_calls(*chain, resolver=names) as calls:
            with pytest.raises(PolicyDeniedError, match="by policy `public`"):
                await calls.fetch(url)


async def test_what_it_says_of_itself(server: WebServer) -> None:
    """Its answers are untrusted, its arguments leave, and the log shows URL and method alone."""
    async with web_calls(policy(server.port)) as calls:
        broker = calls.execution()
        spec = broker.grant.terms["web.fetch"].spec
        await calls.fetch(server.page("/", "x"), broker, headers={"X-A": "not-shown"})
        assert broker.flow.labels == ("untrusted",)
        (record,) = calls.decisions
    assert (spec.labels, spec.egress, spec.shown) == (("untrusted",), True, ("url", "method"))
    assert "not-shown" not in repr(record)


async def test_fetches_of_one_principal_take_turns(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those beyond its share wait, and those of others do not."""
    monkeypatch.setattr(engine, "_MAX_FETCHES_OF_PRINCIPAL", 1)
    held = anyio.Event()
    release = threading.Event()

    def hold(exchange: Exchange) -> None:
        release.wait(10)
        exchange.respond(b"held", content_type="text/plain")

    hanging, quick = server.route("/hold", hold), server.page("/", "quick", "text/plain")
    answers: list[str] = []
    async with web_calls(policy(server.port)) as calls:

        async def fetch(url: str, principal: str) -> None:
            answer = await calls.fetch(url, calls.execution(principal=principal))
            answers.append(f"{principal} {answer['content']}")
            held.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fetch, hanging, "ada")
            while not server.seen:
                await anyio.wait_all_tasks_blocked()
                await anyio.lowlevel.checkpoint()
            tasks.start_soon(fetch, quick, "ada")
            tasks.start_soon(fetch, quick, "eve")
            await held.wait()
            assert answers == ["eve quick"]
            release.set()
    assert answers == ["eve quick", "ada held", "ada quick"]
