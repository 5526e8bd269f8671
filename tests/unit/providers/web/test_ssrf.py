"""Attempts to reach what is not public, by spelling, by names and by redirects: none gets through.

Each attempt is made for real, with a server on loopback that would answer, under a policy that
allows every host and the port of the server, and with a resolver that helps the attacker: it reads
numbers as C libraries do, and takes every other name for one of loopback.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from ipaddress import ip_address

import httpcore2
import pytest

from caps.protocol.errors import PolicyDeniedError, ProviderError, ValidationError
from caps.providers.web.addresses import kind_of, refusal
from support.web_calls import Names, policy, web_calls
from support.web_servers import WebServer

pytestmark = pytest.mark.anyio

# Hosts as they stand in a URL; `{p}` is where the port goes.
_IPV4 = """
127.0.0.1 127.1 127.0.1 127.255.255.254 127.0.0.2 2130706433 017700000001 0x7f000001 0x7F000001
0177.0.0.1 0177.0.0.01 0x7f.0.0.1 0x7f.1 0x7f.0x0.0x0.0x1 127.0x1 127.0.0.0x1 00000177.0.0.1
127.000.000.001 0127.0.0.1 127.0.0.1. 127.0.0.1.. .127.0.0.1 127..0.0.1 127.0.0.1.nip.io
127。0。0。1 127．0．0．1 127｡0｡0｡1 １２７.0.0.1 ①②⑦.⓪.⓪.① 1２7.0.0.1 ⑴²⁷.0.0.1 𝟏𝟐𝟕.𝟎.𝟎.𝟏
0.0.0.0 0 0x0 00 0.0 0.0.0 000.000.000.000 0.1.2.3 256.256.256.256 4294967296 4294967295 -1
2130706433.5 127.0.0.1%00 127.0.0.1%2e 127.0.0.1%0d%0a 127%2e0%2e0%2e1 %31%32%37.0.0.1 127.0.0.1%20
169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 0xa9.0xfe.0xa9.0xfe 169.254.43518
169.16689662 169.254.0xa9fe 169.254.169.254. 169.254.170.2 169.254.0.1 100.100.100.200
168.63.129.16 192.0.0.192 192.0.0.1 192.0.2.1 198.51.100.7 203.0.113.9 198.18.0.1 198.19.255.255
10.0.0.1 10.1 0xa000001 012.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 0xac100001 192.168.0.1
192.168.1 192.168.257 0xc0a80001 100.64.0.1 100.127.255.255 224.0.0.1 239.255.255.250 240.0.0.1
255.255.255.255 192.88.99.1
""".split()
_IPV6 = """
[::1] [0:0:0:0:0:0:0:1] [0000::0001] [::] [::0] [0::] [::ffff:127.0.0.1] [::ffff:7f00:1]
[::FFFF:127.0.0.1] [0:0:0:0:0:ffff:127.0.0.1] [::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1]
[64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b:1::7f00:1] [64:ff9b::10.0.0.1]
[2002:7f00:1::] [2002:7f00:1::1] [2002:a9fe:a9fe::] [2002:c0a8:1::] [2001::1] [2001:0:7f00:1::]
[2001:0:53aa:64c:0:0:80ff:fffe] [fe80::1] [fe80::1%lo] [fe80::1%25lo] [fe80::1%25] [::1%lo]
[::1%25lo] [fec0::1] [fc00::1] [fd00::1] [fd00:ec2::254] [fd00:ec2::23] [ff02::1] [ff00::]
[2001:db8::1] [3fff::1] [100::1] [5f00::1] [::ffff:169.254.169.254] [::ffff:a9fe:a9fe]
[::ffff:10.0.0.1] [::ffff:0:0] [0:0:0:0:0:ffff:0a00:0001] [::1]. [::1]x x[::1] [[::1]] [::1 ::1]
[::1]] [] [:] [1] [127.0.0.1] [::g] [12345::] [1:2:3:4:5:6:7:8:9] [::1:] [:::1] [::ffff:127.1]
[::ffff:0x7f.0.0.1] [v1.fe80::a] [::1%2525lo] [fd20:ce::254] [4000::1] [e000::1] [2001:10::1]
""".split()
_NAMES = """
localhost LOCALHOST localhost. localhost.localdomain ip6-localhost localtest.me LocalHost
127-0-0-1.sslip.io 7f000001.rbndr.us metadata metadata.google.internal metadata.google.internal.
ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ｌｏｃａｌｈｏｓｔ loc\u200balhost localhost\u3002 localho\u017ft l\u00adocalhost
local%68ost %6c%6f%63%61%6c%68%6f%73%74 localhost%00.example.org localhost%23 localhost%2f
localhost\u0000 localhost\u2025 xn-- xn--a -localhost localhost- lo_calhost a..b .localhost
kubernetes.default.svc host.docker.internal router.local instance-data spoofed.burpcollaborator.net
""".split()
_URLS = """
http://example.org@{h}/ http://{h}@example.org/ http://a:b@{h}/ http://example.org:80@{h}/
http://{h}\\@example.org/ http://example.org\\@{h}/ http://{h}\\.example.org/ http:\\\\{h}/
http:/\\{h}/ http:{h}/ http:/{h}/ http:///{h}/ http:////{h}/ //{h}/ \\\\{h}/ http://\\{h}/
http://{h}#@example.org/ http://{h}?@example.org/ http://{h};@example.org/ http://{h}%23@example.org/
http://example.org#@{h}/ http://example.org%20@{h}/ http://example.org%00@{h}/ http://{h}\t/
http://\t{h}/ \thttp://{h}/ \x00http://{h}/ ht\ntp://{h}/ http://{h}\r\nX:y/ http://{h}\x0b/
http://{h}\u2028/ http://\u202e{h}/ http://\ufeff{h}/ HTTP://{h}/ hTTp://{h}/ http://{h}:/
http://{h}:0/ http://{h}:00{p}/ http://{h}:+{p}/ http://{h}:-1/ http://{h}:65536/ http://{h}:{p}x/
http://{h}:{p}:80/ http://{h}:{p}@/ gopher://{h}/ file://{h}/ ftp://{h}/ dict://{h}/ ldap://{h}/
jar:http://{h}!/ url:http://{h}/ view-source:http://{h}/ feed:http://{h}/ data:text/html,x
http://{h},example.org/ http://example.org,{h}/ http://{h}&example.org/ http://{h}|x/ http://<{h}>/
http://{h}{{}}/ http://${{h}}/ http://"{h}"/ http://{h}'/ http://{h}`/ http://!{h}/ http://*/
""".split("\n")
_WITH_PORT = [f"http://{host}:{{p}}/" for host in (*_IPV4, *_IPV6, *_NAMES)]
_TRICKS = [
    trick.replace("{h}", "127.0.0.1:{p}").replace("{{", "{").replace("}}", "}")
    for line in _URLS
    for trick in line.split(" ")
    if trick
]
ATTEMPTS = list(dict.fromkeys([*_WITH_PORT, *_TRICKS]))


def helpful_resolver(host: str, _port: int) -> Sequence[str]:
    """Reads numbers as `inet_aton` does, and everything else as loopback."""
    try:
        return [socket.inet_ntoa(socket.inet_aton(host))]
    except OSError:
        return ["127.0.0.1"]


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with WebServer() as found:
        found.page("/", "you should not see this")
        yield found


def test_there_are_more_than_two_hundred_attempts() -> None:
    """All different."""
    assert len(ATTEMPTS) > 200


async def test_no_spelling_gets_through(server: WebServer) -> None:
    """Not one connection is made, and every refusal says why."""
    through = []
    async with web_calls(policy(server.port, loopback=False), resolver=helpful_resolver) as calls:
        for attempt in ATTEMPTS:
            url = attempt.replace("{p}", str(server.port))
            try:
                await calls.fetch(url)
                through.append(url)
            except (ValidationError, PolicyDeniedError):
                continue
            except ProviderError as error:
                through.append(f"{url}: {error}")
        assert through == []
        assert len(calls.decisions) == len(ATTEMPTS)
    assert server.connections == 0


@pytest.mark.parametrize("scope", [{"loopback": True}, {"networks": ["10.0.0.0/8", "fc00::/7"]}])
async def test_what_a_scope_opens_opens_nothing_else(scope: dict[str, object]) -> None:
    """Loopback and private networks have one spelling each, and metadata is in neither."""
    given = {"loopback": bool(scope.get("loopback")), "networks": scope.get("networks", [])}
    async with web_calls(policy(9, **given), resolver=helpful_resolver) as calls:
        hosts = "169.254.169.254 [fd00:ec2::254] 0.0.0.0 [::ffff:127.0.0.1] 192.168.0.1"
        for host in (*hosts.split(), "[64:ff9b::7f00:1]", "2130706433", "100.100.100.200"):
            with pytest.raises(PolicyDeniedError):
                await calls.fetch(f"http://{host}:9/")


async def test_an_answer_that_changes_between_look_ups(
    server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer is the only one: it was checked, and it is connected to."""
    connected: list[str] = []

    async def no_connection(_backend: object, host: str, *_more: object) -> None:
        connected.append(host)
        raise httpcore2.ConnectError

    names = Names(rebind_test=[["203.0.114.1"], ["127.0.0.1"]])
    url = f"http://rebind.test:{server.port}/"
    async with web_calls(policy(server.port, loopback=False), resolver=names) as calls:
        with monkeypatch.context() as patch:
            patch.setattr(httpcore2.AnyIOBackend, "connect_tcp", no_connection)
            with pytest.raises(ProviderError, match=r"no connection to `rebind.test`"):
                await calls.fetch(url)
        assert (names.asked, connected) == (["rebind.test"], ["203.0.114.1"])
        with pytest.raises(PolicyDeniedError, match=r"not public \(loopback\)"):
            await calls.fetch(url)
    assert server.connections == 0


async def test_the_address_that_was_checked_is_connected_to(server: WebServer) -> None:
    """Although the name has another one by then."""
    names = Names(rebind_test=[["127.0.0.1"], ["127.0.0.99"]])
    with WebServer() as own:
        own.page("/", "the first", "text/plain")
        async with web_calls(policy(own.port), resolver=names) as calls:
            answer = await calls.fetch(own.url("/", "rebind.test"))
    assert (answer["content"], names.asked) == ("the first", ["rebind.test"])


@pytest.mark.parametrize(
    "answer",
    [
        ["93.184.216.34", "127.0.0.1"],
        ["127.0.0.1", "93.184.216.34"],
        ["93.184.216.34", "::ffff:127.0.0.1"],
        ["fe80::1%lo"],
        ["169.254.169.254"],
    ],
)
async def test_one_address_that_is_not_public_refuses_the_name(
    server: WebServer, answer: list[str]
) -> None:
    """Wherever it stands in the answer."""
    async with web_calls(
        policy(server.port, loopback=False), resolver=Names(a_test=answer)
    ) as calls:
        with pytest.raises(PolicyDeniedError, match="has an address that is not public"):
            await calls.fetch(f"http://a.test:{server.port}/")
        (outcome,) = calls.outcomes
    assert (outcome.status.value, outcome.reason) == ("denied", "scope_violation")
    assert server.connections == 0


async def test_an_answer_that_is_no_address() -> None:
    """Is an error."""
    async with web_calls(policy(80), resolver=Names(a_test=["localhost"])) as calls:
        with pytest.raises(ProviderError, match=r"addresses of `a.test` are not valid"):
            await calls.fetch("http://a.test/")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("8.8.8.8", None),
        ("2606:4700::1111", None),
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("10.0.0.1", "private"),
        ("100.64.0.1", "private"),
        ("fd12::1", "private"),
        ("169.254.169.254", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("::ffff:8.8.8.8", "IPv4-mapped"),
        ("64:ff9b::808:808", "IPv4-translated"),
        ("64:ff9b:1::1", "IPv4-translated"),
        ("2002:808:808::", "6to4"),
        ("2001::1", "Teredo"),
        ("fe80::1", "link-local"),
        ("ff02::1", "multicast"),
        ("4000::1", "reserved"),
        ("0.0.0.0", "unspecified"),
    ],
)
def test_the_kinds_of_addresses(text: str, kind: str | None) -> None:
    """The table, row by row; a translated address is refused whatever it stands for."""
    assert kind_of(ip_address(text)) == kind
    assert refusal(ip_address(text), loopback=False, networks=()) == kind


def test_python_knows_no_special_address_that_the_table_does_not() -> None:
    """One address at every 2^20 of IPv4: what Python calls not global is in the table."""
    for number in range(0, 2**32, 2**20 - 1):
        address = ip_address(number)
        if not address.is_global:
            assert kind_of(address) is not None, address
