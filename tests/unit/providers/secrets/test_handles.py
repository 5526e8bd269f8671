"""Secrets by handle: code has a handle, the host of the scope gets the value, nobody else does."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from caps.capabilities.secrets import handles
from caps.capabilities.secrets.masking import MASK
from caps.protocol.errors import PolicyDeniedError, PolicyInvalidError, ProviderError
from support.web_calls import Names, WebCalls, policy, web_calls
from support.web_servers import Authority, Exchange, WebServer

pytestmark = pytest.mark.anyio

VALUE = "s3cret-value/with+odd=chars"
GITHUB = {"github": {"hosts": ["127.0.0.1", "api.test"]}}


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPS_SECRET_GITHUB", VALUE)
    monkeypatch.setenv("CAPS_SECRET_OTHER", "another value")


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as found:
        yield found


def echo(exchange: Exchange) -> None:
    """A page that has everything that was sent."""
    value = exchange.headers.get("authorization", "")
    body = "\n".join([value, value[::-1][::-1], base64.b64encode(value.encode()).decode()])
    exchange.respond(
        body.encode(),
        content_type=f"text/plain; x={value}",
        last_modified=value,
        content_disposition=f'attachment; filename="{value.rpartition("/")[2]} {value}"',
    )


async def with_handle(calls: WebCalls, broker: Any, name: str = "github") -> str:
    found = await calls.call("secrets.handle", {"name": name}, broker)
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("form", ["{}", "Bearer {}", "token {}, again {}"])
async def test_a_handle_is_filled_in_and_its_value_masked(server: WebServer, form: str) -> None:
    """The server gets the value; code sees neither it nor an echo of it."""
    url = server.route("/", echo)
    async with web_calls(policy(server.port, secrets=GITHUB)) as calls:
        broker = calls.execution()
        handle = await with_handle(calls, broker)
        header = form.replace("{}", handle)
        answer = await calls.fetch(url, broker, headers={"Authorization": header})
        records = repr(calls.events)
    assert server.seen[0].headers["authorization"] == form.replace("{}", VALUE)
    assert handle.startswith("caps-secret-")
    for text in (handle, repr(answer), records):
        assert VALUE not in text
        assert base64.b64encode(VALUE.encode()).decode()[:12] not in text
    assert MASK in answer["content"]


async def test_an_echo_without_a_handle_is_masked_too(server: WebServer) -> None:
    """Every value that the execution has a handle of."""
    url = server.page("/", f"it is {VALUE}", "text/plain")
    async with web_calls(policy(server.port, secrets=GITHUB)) as calls:
        broker = calls.execution()
        await with_handle(calls, broker)
        assert (await calls.fetch(url, broker))["content"] == f"it is {MASK}"


async def test_a_value_that_is_cut_off_is_masked(server: WebServer) -> None:
    """A limit in the middle of it shows nothing of it."""
    url = server.page("/", f"it is {VALUE}", "text/plain")
    async with web_calls(policy(server.port, secrets=GITHUB, max_bytes=14)) as calls:
        broker = calls.execution()
        await with_handle(calls, broker)
        content = (await calls.fetch(url, broker))["content"]
    assert content.startswith(f"it is {MASK}\n")


async def test_a_value_across_chunks(server: WebServer) -> None:
    """The borders of chunks are no borders of text."""

    def chunked(exchange: Exchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n")
        exchange.send(b"transfer-encoding: chunked\r\n\r\n")
        for character in f"<{VALUE}>":
            exchange.send(f"1\r\n{character}\r\n".encode())
        exchange.send(b"0\r\n\r\n")

    url = server.route("/", chunked)
    async with web_calls(policy(server.port, secrets=GITHUB)) as calls:
        broker = calls.execution()
        await with_handle(calls, broker)
        assert (await calls.fetch(url, broker))["content"] == f"<{MASK}>"


async def test_no_other_host_gets_it(server: WebServer) -> None:
    """Denied before a connection, and the log says so."""
    names = Names(evil_test=["127.0.0.1"])
    async with web_calls(policy(server.port, secrets=GITHUB), resolver=names) as calls:
        broker = calls.execution()
        handle = await with_handle(calls, broker)
        with pytest.raises(PolicyDeniedError, match=r"`github` may not be sent to `evil.test`"):
            await calls.fetch(server.url("/", "evil.test"), broker, headers={"X-A": handle})
        assert calls.outcomes[-1].status.value == "denied"
    assert server.connections == 0


async def test_every_policy_must_name_the_host(server: WebServer) -> None:
    """The hosts of a secret shrink like everything else."""
    chain = (
        policy(server.port, secrets={"github": {"hosts": ["127.0.0.1"]}}),
        {**policy(server.port, secrets={"github": {"hosts": ["api.test"]}}), "id": "inner"},
    )
    async with web_calls(*chain) as calls:
        broker = calls.execution()
        handle = await with_handle(calls, broker)
        with pytest.raises(PolicyDeniedError, match=r"may not be sent to `127.0.0.1`"):
            await calls.fetch(server.url("/"), broker, headers={"X-A": handle})


async def test_a_handle_is_worthless_elsewhere(server: WebServer) -> None:
    """In another execution, of the same principal or another, and when it is made up."""
    url = server.route("/", echo)
    async with web_calls(policy(server.port, secrets=GITHUB)) as calls:
        handle = await with_handle(calls, calls.execution())
        for text in (handle, f"caps-secret-{'0' * 32}"):
            for broker in (calls.execution(), calls.execution(principal="eve")):
                with pytest.raises(PolicyDeniedError, match="a handle is not of this execution"):
                    await calls.fetch(url, broker, headers={"X-A": text})
    assert server.connections == 0


async def test_no_part_of_a_value_is_left_of_a_header(server: WebServer) -> None:
    """Headers are cut, and a file name is the last part of a path."""

    def respond(exchange: Exchange) -> None:
        value = exchange.headers["x-a"]
        exchange.respond(
            content_type=f"text/plain; {'x' * 230} {value}",
            last_modified=f"{'x' * 240} {value}",
            content_disposition=f'attachment; filename="{value}"',
        )

    url = server.route("/", respond)
    async with web_calls(policy(server.port, secrets=GITHUB)) as calls:
        broker = calls.execution()
        handle = await with_handle(calls, broker)
        answer = await calls.fetch(url, broker, headers={"X-A": handle})
    assert answer["filename"] == MASK
    for part in (VALUE[:6], VALUE[-6:]):
        assert part not in repr(answer)


async def test_a_handle_counts_only_where_the_grant_would_give_it(server: WebServer) -> None:
    """In a session the next execution may have other policies, and a grant can be revoked."""
    url = server.route("/", echo)
    elsewhere = policy(server.port, secrets={"github": {"hosts": ["api.test"]}})
    async with web_calls(policy(server.port, secrets=GITHUB)) as calls:
        who = {"principal": "ada", "session": "s1"}
        first = calls.execution(**who)
        headers = {"X-A": await with_handle(calls, first)}
        await calls.fetch(url, first, headers=headers)
        revoked = calls.execution(**who)
        revoked.revoke(frozenset({"secrets.handle"}))
        for broker in (
            calls.execution(policy(server.port), **who),
            calls.execution(elsewhere, **who),
            calls.execution(policy(server.port, secrets=GITHUB), elsewhere | {"id": "b"}, **who),
            revoked,
        ):
            with pytest.raises(PolicyDeniedError, match=r"`github` may not be sent to"):
                await calls.fetch(url, broker, headers=headers)
    assert len(server.seen) == 1


async def test_a_session_keeps_its_handles(server: WebServer) -> None:
    """For all of its executions, and for no other session or principal."""
    url = server.route("/", echo)
    async with web_calls(policy(server.port, secrets=GITHUB)) as calls:
        first = calls.execution(principal="ada", session="s1")
        handle = await with_handle(calls, first)
        assert await with_handle(calls, first) == handle
        second = calls.execution(principal="ada", session="s1")
        await calls.fetch(url, second, headers={"Authorization": handle})
        for who in ({"principal": "ada", "session": "s2"}, {"principal": "eve", "session": "s1"}):
            with pytest.raises(PolicyDeniedError):
                await calls.fetch(url, calls.execution(**who), headers={"X-A": handle})
    assert [each.headers["authorization"] for each in server.seen] == [VALUE]


async def test_names_that_the_policy_does_not_have() -> None:
    """Neither a missing name nor a missing scope reaches anything."""
    async with web_calls(policy(secrets=GITHUB)) as calls:
        with pytest.raises(PolicyDeniedError, match="names no secret `other`"):
            await with_handle(calls, calls.execution(), "other")
        bare = {"id": "bare", "allow": ["secrets.handle"]}
        with pytest.raises(PolicyDeniedError):
            await with_handle(calls, calls.execution(bare))


async def test_a_secret_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is an error when the handle is asked for; one that is gone, when it is used."""
    async with web_calls(policy(9, secrets=GITHUB)) as calls:
        broker = calls.execution()
        handle = await with_handle(calls, broker)
        monkeypatch.delenv("CAPS_SECRET_GITHUB")
        with pytest.raises(ProviderError, match="there is no secret `github`"):
            await calls.fetch("http://127.0.0.1:9/", broker, headers={"X-A": handle})
        with pytest.raises(ProviderError, match="there is no secret `github`"):
            await with_handle(calls, calls.execution())


async def test_a_value_that_was_replaced_is_masked_like_the_new_one(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The execution has had both."""
    url = server.page("/", f"{VALUE} and new-secret-value", "text/plain")
    async with web_calls(policy(server.port, secrets=GITHUB)) as calls:
        broker = calls.execution()
        handle = await with_handle(calls, broker)
        monkeypatch.setenv("CAPS_SECRET_GITHUB", "new-secret-value")
        answer = await calls.fetch(url, broker, headers={"Authorization": handle})
    assert answer["content"] == f"{MASK} and {MASK}"
    assert server.seen[0].headers["authorization"] == "new-secret-value"


async def test_values_that_no_header_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line break would be another header. The error does not have the value."""
    monkeypatch.setenv("CAPS_SECRET_GITHUB", "first-line\r\nX-Evil: 1")
    async with web_calls(policy(9, secrets=GITHUB)) as calls:
        broker = calls.execution()
        handle = await with_handle(calls, broker)
        with pytest.raises(ProviderError, match="`X-A` is not printable ASCII") as raised:
            await calls.fetch("http://127.0.0.1:9/", broker, headers={"X-A": handle})
    assert "first-line" not in str(raised.value)


async def test_a_secret_goes_by_https_only() -> None:
    """But for this machine itself."""
    scope = policy(9, secrets=GITHUB, networks=["10.0.0.0/8"])
    async with web_calls(scope, resolver=Names(api_test=["10.0.0.1"])) as calls:
        broker = calls.execution()
        handle = await with_handle(calls, broker)
        with pytest.raises(ProviderError, match="sent by `https` only"):
            await calls.fetch("http://api.test:9/", broker, headers={"X-A": handle})


async def test_redirects_take_a_secret_to_its_hosts_only(server: WebServer) -> None:
    """To another host of the scope it goes along, to any other it does not."""
    authority = Authority()
    with WebServer(authority.server("api.test", "evil.test")) as secure:
        names = Names(api_test=["127.0.0.1"], evil_test=["127.0.0.1"])
        secure.route("/end", lambda exchange: exchange.respond(b"x", content_type="text/plain"))
        secure.route("/a", lambda exchange: exchange.redirect(secure.url("/end", "evil.test")))
        server.route("/b", lambda exchange: exchange.redirect(secure.url("/end", "api.test")))
        scope = policy(server.port, ports=[secure.port], secrets=GITHUB)
        async with web_calls(scope, resolver=names, tls=authority.client()) as calls:
            broker = calls.execution()
            headers = {"Authorization": await with_handle(calls, broker)}
            await calls.fetch(secure.url("/a", "api.test"), broker, headers=headers)
            await calls.fetch(server.url("/b"), broker, headers=headers)
    sent = [each.headers.get("authorization") for each in secure.seen]
    assert sent == [VALUE, None, VALUE]


async def test_a_redirect_with_the_value_in_it_is_not_followed(server: WebServer) -> None:
    """The log would show it."""

    def leak(exchange: Exchange) -> None:
        exchange.redirect(f"/?token={exchange.headers['authorization']}")

    url = server.route("/", leak)
    async with web_calls(policy(server.port, secrets=GITHUB)) as calls:
        broker = calls.execution()
        handle = await with_handle(calls, broker)
        with pytest.raises(ProviderError, match="with a secret in it"):
            await calls.fetch(url, broker, headers={"Authorization": handle})
        assert VALUE not in repr(calls.events)


async def test_the_log_of_the_host_has_no_value(
    server: WebServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even at its finest level."""
    url = server.page("/", "x", "text/plain")
    with caplog.at_level(logging.DEBUG):
        async with web_calls(policy(server.port, secrets=GITHUB)) as calls:
            broker = calls.execution()
            handle = await with_handle(calls, broker)
            await calls.fetch(url, broker, headers={"Authorization": handle})
    assert VALUE not in caplog.text


@pytest.mark.parametrize(
    "scope",
    [
        {},
        {"github": {}},
        {"github": {"hosts": []}},
        {"github": {"hosts": ["*"]}},
        {"github": {"hosts": ["a.org"], "ports": [1]}},
        {"GitHub": {"hosts": ["a.org"]}},
        {"../x": {"hosts": ["a.org"]}},
        {"github": "api.github.com"},
        {"github": {"hosts": ["http://a.org"]}},
    ],
)
async def test_a_scope_that_is_not_valid_is_an_error(scope: Any) -> None:
    """Unknown keys, no hosts, every host, names that are none."""
    async with web_calls() as calls:
        with pytest.raises(PolicyInvalidError):
            calls.execution(policy(secrets=scope))


async def test_the_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The callers that have not used theirs for longest lose them, of the same principal first."""
    monkeypatch.setattr(handles, "MAX_CALLERS_OF_PRINCIPAL", 2)
    async with web_calls(policy(9, secrets=GITHUB)) as calls:
        other = calls.execution(principal="other")
        kept = await with_handle(calls, other)
        brokers = [calls.execution(principal="ada") for _ in range(3)]
        given = [await with_handle(calls, each) for each in brokers]
        payload = {"headers": {"X-A": given[0]}}
        with pytest.raises(PolicyDeniedError, match="a handle is not of this execution"):
            await calls.fetch("http://127.0.0.1:9/", brokers[0], **payload)
        for broker, handle in ((brokers[2], given[2]), (other, kept)):
            with pytest.raises(ProviderError, match="no connection"):
                await calls.fetch("http://127.0.0.1:9/", broker, headers={"X-A": handle})
