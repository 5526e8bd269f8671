"""Redirects: each is a decision of its own, with its own records."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caps.protocol.errors import PolicyDeniedError, ProviderError
from support.web_calls import Names, WebCalls, policy, web_calls
from support.web_servers import Authority, WebServer

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as found:
        yield found


def redirecting(server: WebServer, path: str, location: str, status: int = 302) -> str:
    return server.route(path, lambda exchange: exchange.redirect(location, status))


def chain_of(calls: WebCalls) -> list[tuple[str, bool, bool]]:
    """For each decision: its URL, whether it was allowed, and whether it has a parent."""
    return [
        (str(each.shown.get("url")), each.decision == "allow", each.parent is not None)
        for each in calls.decisions
    ]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_redirect_is_followed_by_a_call_of_its_own(
    server: WebServer, status: int, method: str
) -> None:
    """With the same method; the answer has both URLs, the log both decisions."""
    last = server.page("/there", "found", "text/plain")
    first = redirecting(server, "/here", "/there", status)
    async with web_calls(policy(server.port)) as calls:
        answer = await calls.fetch(first, method=method)
        decisions = calls.decisions
        assert chain_of(calls) == [(first, True, False), (last, True, True)]
        assert decisions[1].parent == decisions[0].request_id
        assert [each.status.value for each in calls.outcomes] == ["ok", "ok"]
    assert (answer["url"], answer["final_url"], answer["status_code"]) == (first, last, 200)
    assert [each.method for each in server.seen] == [method, method]


async def test_three_in_a_row_name_the_first_and_the_last(server: WebServer) -> None:
    """Relative, with a query, and in full."""
    redirecting(server, "/a/1", "2?x=1")
    redirecting(server, "/a/2", server.url("/b"))
    last = server.page("/b", "end", "text/plain")
    async with web_calls(policy(server.port)) as calls:
        answer = await calls.fetch(server.url("/a/1"))
    assert (answer["content"], answer["final_url"]) == ("end", last)
    assert [each.target for each in server.seen] == ["/a/1", "/a/2?x=1", "/b"]


async def test_circles_end(server: WebServer) -> None:
    """At the number that the scope allows."""
    url = redirecting(server, "/", "/")
    async with web_calls(policy(server.port, redirects=3)) as calls:
        with pytest.raises(PolicyDeniedError, match="more than 3 redirects in a row"):
            await calls.fetch(url)
        assert len(calls.decisions) == 4
    assert len(server.seen) == 4


async def test_a_scope_without_redirects_follows_none(server: WebServer) -> None:
    """The lowest number of all policies counts."""
    url = redirecting(server, "/", "/x")
    chain = (policy(server.port), {**policy(server.port, redirects=0), "id": "none"})
    async with web_calls(*chain) as calls:
        with pytest.raises(PolicyDeniedError, match=r"by policy `none`.* more than 0 redirects"):
            await calls.fetch(url)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("location", "rule"),
    [
        ("http://10.0.0.1/", "scopes.web.hosts"),
        ("http://169.254.169.254/latest/meta-data/", "scopes.web.hosts"),
        ("http://evil.test/", "scopes.web.hosts"),
        ("//evil.test/", "scopes.web.hosts"),
        ("https://front.test:22/", "scopes.web.ports"),
    ],
)
async def test_a_redirect_reaches_nothing_that_a_call_could_not(
    server: WebServer, location: str, rule: str
) -> None:
    """The nested decision denies it, and the caller sees that denial."""
    url = redirecting(server, "/", location).replace("127.0.0.1", "front.test")
    names = Names(front_test=["127.0.0.1"], evil_test=["127.0.0.1"])
    async with web_calls(policy(server.port, hosts=["front.test"]), resolver=names) as calls:
        with pytest.raises(PolicyDeniedError):
            await calls.fetch(url)
        assert [each.rule for each in calls.decisions][1:] == [rule]
        assert [each.status.value for each in calls.outcomes] == ["denied"]
    assert len(server.seen) == 1


async def test_a_redirect_to_a_name_of_loopback(server: WebServer) -> None:
    """Names are looked up and checked for every hop."""
    with WebServer() as other:
        other.page("/", "internal")
        url = redirecting(server, "/", f"http://inner.test:{other.port}/")
        names = Names(inner_test=["10.0.0.7"])
        scope = policy(server.port, ports=[other.port])
        async with web_calls(scope, resolver=names) as calls:
            with pytest.raises(PolicyDeniedError, match=r"not public \(private\)"):
                await calls.fetch(url)
        assert other.connections == 0


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "ftp://a/", "gopher://a:70/_x", "javascript:x", "http://u:p@a.test/",
     "http://a\\b/", "http://2130706433/", "http://[::1%25lo]/", "http://" + "a" * 9000],
)  # fmt: skip
async def test_a_redirect_to_no_valid_url(server: WebServer, location: str) -> None:
    """Is an error, and not followed."""
    url = redirecting(server, "/", location)
    async with web_calls(policy(server.port)) as calls:
        with pytest.raises(ProviderError):
            await calls.fetch(url)
        assert len(calls.decisions) == 1


async def test_a_redirect_without_a_place_is_an_answer(server: WebServer) -> None:
    """So is any other status."""
    server.routes["/"] = lambda exchange: exchange.respond(
        b"moved", status="301 Moved", content_type="text/plain"
    )
    async with web_calls(policy(server.port)) as calls:
        answer = await calls.fetch(server.url("/"))
    assert (answer["status_code"], answer["content"]) == (301, "moved")


async def test_no_way_from_https_to_http_unless_the_scope_has_it(server: WebServer) -> None:
    """The scheme is part of the nested decision."""
    authority = Authority()
    plain = server.page("/", "plain", "text/plain").replace("127.0.0.1", "a.test")
    with WebServer(authority.server("a.test")) as secure:
        url = redirecting(secure, "/", plain).replace("127.0.0.1", "a.test")
        names = Names(a_test=["127.0.0.1"])
        for schemes in (["https"], ["http", "https"]):
            scope = policy(server.port, ports=[secure.port], schemes=schemes)
            async with web_calls(scope, resolver=names, tls=authority.client()) as calls:
                if "http" in schemes:
                    assert (await calls.fetch(url))["content"] == "plain"
                    continue
                with pytest.raises(PolicyDeniedError, match="the scheme `http` is not allowed"):
                    await calls.fetch(url)


async def test_headers_stay_with_their_origin(server: WebServer) -> None:
    """To another host or port only harmless ones go along."""
    with WebServer() as other:
        redirecting(server, "/", "/same")
        redirecting(server, "/same", other.page("/", "x", "text/plain"))
        headers = {"Authorization": "mine", "X-Api-Key": "mine", "Accept": "text/x"}
        async with web_calls(policy(server.port, ports=[other.port])) as calls:
            await calls.fetch(server.url("/"), headers=headers)
    assert [each.headers.get("authorization") for each in server.seen] == ["mine", "mine"]
    (last,) = other.seen
    assert (last.headers.get("authorization"), last.headers.get("x-api-key")) == (None, None)
    assert last.headers["accept"] == "text/x"


async def test_redirects_count_as_calls(server: WebServer) -> None:
    """`limits.calls` and rates see each of them."""
    url = redirecting(server, "/", "/")
    limited = {**policy(server.port), "limits": {"rates": {"web.fetch": "2/min"}}}
    async with web_calls(limited) as calls:
        with pytest.raises(Exception, match="2/min"):
            await calls.fetch(url)
    assert len(server.seen) == 2
