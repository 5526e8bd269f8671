"""What the client makes of a service, or something else, that does not answer as it should."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from caps.client import (
    AnswerInvalidError,
    AsyncClient,
    Client,
    ClientError,
    ClientSettings,
    RequestInvalidError,
    ServiceFailedError,
    ServiceTimeoutError,
    ServiceUnreachableError,
    TooManyRequestsError,
)
from support.scripted_server import HANG, ScriptedServer, http, problem, scripted_server, stream

QUICK = ClientSettings(first_pause_seconds=0.001, max_pause_seconds=0.01, attempts=3)
EMPTY = http(200, b'{"items": []}', "Content-Type: application/json")
EXECUTION = {
    "id": "e1",
    "principal": "ada",
    "agent_id": None,
    "session": None,
    "status": "queued",
    "source_sha256": "",
    "started": False,
    "created_at": "2026-01-01T00:00:00Z",
}


def client_of(server: ScriptedServer, settings: ClientSettings = QUICK) -> Client:
    return Client(server.url, token="secret-token", settings=settings)


def event(number: int, kind: str = "output", data: str = "{}") -> bytes:
    return f"id: {number}\nevent: {kind}\ndata: {data}\n\n".encode()


class TestRetries:
    @pytest.mark.parametrize(
        "fault",
        [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort", problem(503, "busy")],
        ids=["closed", "cut", "503"],
    )
    def test_a_read_is_repeated(self, fault: bytes) -> None:
        """It has no effect."""
        with scripted_server(fault, EMPTY) as server, client_of(server) as client:
            assert client.list_capabilities().items == ()
            assert len(server.requests) == 2

    def test_what_creates_is_repeated_under_one_key(self) -> None:
        """So the service makes it once."""
        answer = http(202, json.dumps(EXECUTION).encode())
        with scripted_server(b"", problem(500, "x"), answer) as server, client_of(server) as client:
            assert client.start_execution("1").id == "e1"
            keys = [server.headers(number)["idempotency-key"] for number in range(3)]
        assert len(set(keys)) == 1
        assert len(keys[0]) == 32

    @pytest.mark.parametrize(
        "ask",
        [
            lambda client: client.call("math.add"),
            lambda client: client.change_agent("a", name="b"),
            lambda client: client.delete_agent("a"),
        ],
        ids=["call", "change", "delete"],
    )
    @pytest.mark.parametrize("fault", [b"", problem(503, "busy")], ids=["closed", "503"])
    def test_what_may_have_had_its_effect_is_not_repeated(
        self, ask: Callable[[Client], object], fault: bytes
    ) -> None:
        """The caller decides."""
        with scripted_server(fault, EMPTY) as server, client_of(server) as client:
            with pytest.raises(ClientError):
                ask(client)
            assert len(server.requests) == 1

    def test_a_call_with_a_key_of_the_caller_is_repeated(self) -> None:
        """Who gives one says that it may be."""
        call = {"execution_id": "e", "request_id": "r", "capability": "c", "ok": True}
        answer = http(
            200, json.dumps({**call, "value": 1, "error": None, "decision": None}).encode()
        )
        with scripted_server(b"", answer) as server, client_of(server) as client:
            assert client.call("c", idempotency_key="k").value == 1

    def test_a_refusal_for_want_of_room_is_waited_out(self) -> None:
        """Nothing was done, so this holds for everything, until the attempts are used up."""
        refused = problem(429, "rate_exceeded", "Retry-After: 0")
        with scripted_server(refused, refused, http(204)) as server, client_of(server) as client:
            client.delete_agent("a")
        with scripted_server(refused, refused, refused) as server, client_of(server) as client:
            with pytest.raises(TooManyRequestsError) as caught:
                client.list_capabilities()
            assert caught.value.retry_after == 0

    def test_attempts_are_bounded(self) -> None:
        """The last error is raised."""
        with scripted_server(*[problem(502, "x")] * 4) as server, client_of(server) as client:
            with pytest.raises(ServiceFailedError):
                client.list_capabilities()
            assert len(server.requests) == 3


class TestAnswers:
    def test_a_redirect_is_not_followed(self) -> None:
        """The token goes nowhere else."""
        with scripted_server(EMPTY) as other:
            moved = http(307, b"", f"Location: {other.url}/v1/capabilities")
            with (
                scripted_server(moved) as server,
                client_of(server) as client,
                pytest.raises(AnswerInvalidError, match="redirects are not followed"),
            ):
                client.list_capabilities()
            assert other.requests == []

    @pytest.mark.parametrize(
        "answer",
        [
            http(200, b"\xff\xfe"),
            http(200, b"<html>hello</html>"),
            http(200, b'{"items": 5}'),
            http(200, b"[" * 100_000),
            http(200, b"x" * 70_000),
            http(200, b"", "Content-Encoding: gzip"),
            http(404, b"[]", "Content-Type: application/problem+json"),
        ],
        ids=["bytes", "html", "shape", "deep", "oversized", "compressed", "problem"],
    )
    def test_garbage_is_an_error_of_its_own(self, answer: bytes) -> None:
        """One of the tree, in one line, and it is not asked again."""
        settings = ClientSettings(max_answer_bytes=65_536, attempts=3)
        many = answer if len(answer) < 100_000 else http(200, b"[" * 60_000)
        with scripted_server(many, EMPTY) as server, client_of(server, settings) as client:
            with pytest.raises(AnswerInvalidError) as caught:
                client.list_capabilities()
            assert "\n" not in str(caught.value)
            assert len(server.requests) == 1

    def test_an_endless_answer_is_cut_off(self) -> None:
        """Without a length, too."""
        endless = b"HTTP/1.1 200 X\r\n\r\n" + b"x" * 200_000 + HANG
        settings = ClientSettings(max_answer_bytes=65_536)
        with (
            scripted_server(endless) as server,
            client_of(server, settings) as client,
            pytest.raises(AnswerInvalidError, match="larger than 65536"),
        ):
            client.list_capabilities()

    def test_what_is_not_http_is_told(self) -> None:
        """As a broken connection."""
        settings = ClientSettings(attempts=1)
        with (
            scripted_server(b"SSH-2.0-x\r\n") as server,
            client_of(server, settings) as client,
            pytest.raises(ServiceUnreachableError, match="not HTTP"),
        ):
            client.list_capabilities()

    def test_an_error_page_of_a_proxy_is_told(self) -> None:
        """It has no code of the service."""
        page = http(403, b"<html>", "Content-Type: text/html")
        with (
            scripted_server(page) as server,
            client_of(server) as client,
            pytest.raises(ClientError, match="not the service") as caught,
        ):
            client.list_capabilities()
        assert caught.value.problem.code == "unknown"

    def test_a_slow_answer_is_given_up(self) -> None:
        """After the time for a request, and it says that it was sent."""
        settings = ClientSettings(attempts=1, request_seconds=0.1)
        silent = b"HTTP/1.1 200 X\r\n" + HANG
        with (
            scripted_server(silent) as server,
            client_of(server, settings) as client,
            pytest.raises(ServiceTimeoutError) as caught,
        ):
            client.list_capabilities()
        assert caught.value.sent is True
        assert isinstance(caught.value, TimeoutError)

    def test_nobody_listens(self) -> None:
        """It was never sent, so it is tried again, and then told in one line."""
        with scripted_server() as server:
            url = server.url
        with (
            Client(url, token="secret-token", settings=QUICK) as client,
            pytest.raises(ServiceUnreachableError, match="cannot be reached") as caught,
        ):
            client.delete_agent("a")
        assert caught.value.sent is False

    def test_a_problem_with_escapes_is_fit_to_print(self) -> None:
        """What answers may be hostile."""
        body = json.dumps({"status": 400, "code": "x", "detail": "\x1b[2J\n" + "y" * 9999}).encode()
        answer = http(400, body, "Content-Type: application/problem+json")
        with (
            scripted_server(answer) as server,
            client_of(server) as client,
            pytest.raises(RequestInvalidError) as caught,
        ):
            client.list_capabilities()
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 3000


class TestStreams:
    def test_a_stream_that_is_cut_goes_on_after_its_last_event(self) -> None:
        """Every event once, whichever way the connection ends."""
        half = stream(event(1), event(2), b"id: 3\nevent: out")
        ended = stream(event(3)) + b"0\r\n\r\n"
        script = (half, problem(503, "busy"), ended, stream(event(4), event(5, "finished")))
        with scripted_server(*script) as server, client_of(server) as client:
            found = list(client.events("e1"))
            after = [server.headers(number)["last-event-id"] for number in range(4)]
        assert [each.number for each in found] == [1, 2, 3, 4, 5]
        assert after == ["0", "2", "2", "3"]

    def test_events_may_be_cut_anywhere(self) -> None:
        """Bytes are put together; comments are passed over."""
        whole = b": wait\n\n" + event(1, data='{"text": "\\u00e9"}') + event(2, "finished")
        parts = [whole[place : place + 1] for place in range(len(whole))]
        with scripted_server(stream(*parts)) as server, client_of(server) as client:
            found = list(client.events("e1"))
        assert [each.data for each in found] == [{"text": "é"}, {}]

    def test_a_stream_that_never_goes_on_is_given_up(self) -> None:
        """After as many attempts in a row as a request has."""
        with scripted_server(*[stream()] * 4) as server, client_of(server) as client:
            with pytest.raises(ServiceUnreachableError):
                list(client.events("e1"))
            assert len(server.requests) == 3

    @pytest.mark.parametrize(
        "garbage",
        [
            event(1, data="nothing"),
            event(1) + event(1),
            b"data: {}\n\n",
            b"id: 1\ndata: " + b"x" * 9000,
            event(10**20),
        ],
        ids=["data", "repeated", "unnumbered", "oversized", "number"],
    )
    def test_garbage_in_a_stream_is_an_error(self, garbage: bytes) -> None:
        """It is not asked for again: it would be the same."""
        settings = ClientSettings(max_event_bytes=8192)
        with (
            scripted_server(stream(garbage) + HANG) as server,
            client_of(server, settings) as client,
        ):
            with pytest.raises(AnswerInvalidError):
                list(client.events("e1"))
            assert len(server.requests) == 1

    def test_a_silent_stream_is_opened_again(self) -> None:
        """The service sends something every few seconds."""
        settings = ClientSettings(stream_silence_seconds=0.1, first_pause_seconds=0.001, attempts=3)
        script = (stream(event(1)) + HANG, stream(event(2, "finished")))
        with scripted_server(*script) as server, client_of(server, settings) as client:
            assert [each.number for each in client.events("e1")] == [1, 2]

    @pytest.mark.anyio
    @pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
    async def test_the_asynchronous_client_does_the_same(self) -> None:
        """The steps are the same; only the driver differs."""
        script = (stream(event(1)), b"", stream(event(2, "finished")), b"", EMPTY)
        with scripted_server(*script) as server:
            async with AsyncClient(server.url, token="t", settings=QUICK) as client:
                assert [each.number async for each in client.events("e1")] == [1, 2]
                assert (await client.list_capabilities()).items == ()
