"""A server on pipes: how calls and the server end, and what a client may send."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from pathlib import Path

import pytest

from caps.security.audit import ExecutionEnded
from caps.security.audit.files.reader import read_records
from support.mcp_serving import SECONDS, PipeServer, pipe_server, policy_file
from support.processes import descendants, has_ended, open_pidfds

SPIN = "print('begun')\nwhile True:\n    pass"
TOKEN = {"progressToken": "p"}


def spin(server: PipeServer) -> int:
    """The id of a request whose code runs."""
    call = {"name": "execute_code", "arguments": {"code": SPIN}, "_meta": TOKEN}
    number = server.begin("tools/call", call)
    told = server.notification("notifications/progress")
    assert told["params"]["message"] == "begun"
    return number


def busy_worker(server: PipeServer) -> int:
    """The worker that runs code: the only process below the server that is never idle."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        found = [pid for pid, state in descendants(server.process.pid).items() if state == "R"]
        if len(found) == 1:
            return found[0]
    raise AssertionError("no worker runs")


def ends(state: Path) -> list[str]:
    found = (each.event for each in read_records(state / "audit"))
    return [each.status.value for each in found if isinstance(each, ExecutionEnded)]


def test_cancelling_kills_the_worker(tmp_path: Path) -> None:
    """The request is not answered, its worker dies, and the server goes on."""
    with pipe_server(tmp_path, "--policy", policy_file(tmp_path)) as server:
        number = spin(server)
        with open_pidfds(busy_worker(server)) as workers:
            server.send("notifications/cancelled", {"requestId": number, "reason": "enough"})
            assert has_ended(workers[0], within_seconds=SECONDS)
        assert server.request("ping") == {}
        assert server.call("execute_code", code="1 + 1")["structuredContent"]["value"] == 2
    # In any order: the end of the first is recorded when its worker is reaped.
    assert sorted(ends(tmp_path)) == ["cancelled", "ok"]


@pytest.mark.parametrize("how", ["end of input", "SIGTERM", "SIGINT"])
def test_it_ends_with_its_client_and_leaves_no_worker(how: str, tmp_path: Path) -> None:
    """Also while code runs, whose end is on record."""
    with pipe_server(tmp_path, "--policy", policy_file(tmp_path)) as server:
        spin(server)
        with open_pidfds(*descendants(server.process.pid)) as below:
            assert below
            if how == "end of input":
                assert server.end() == 0
            else:
                number = signal.Signals[how]
                server.process.send_signal(number)
                assert server.process.wait(SECONDS) == 128 + number
            assert all(has_ended(each, within_seconds=SECONDS) for each in below)
    assert ends(tmp_path) == ["cancelled"]


def test_progress_of_a_function_and_of_code(tmp_path: Path) -> None:
    """The numbers rise; those of a call of code are text, since each call counts for itself."""
    registry = ("--registry", "support.conformance_registry:registry")
    policy = policy_file(tmp_path, allow=["conformance.*"])
    with pipe_server(tmp_path, "--policy", policy, *registry) as server:
        tool = "conformance_test_tool_with_progress"
        server.request("tools/call", {"name": tool, "_meta": TOKEN})
        told = [server.notification("notifications/progress")["params"] for _ in range(3)]
        assert [(each["progress"], each["total"]) for each in told] == [
            (0, 100),
            (50, 100),
            (100, 100),
        ]
        code = "await caps.conformance.test_tool_with_progress()\nprint('then')"
        call = {"name": "execute_code", "arguments": {"code": code}, "_meta": TOKEN}
        server.request("tools/call", call)
        told = [
            each["params"]
            for each in server.notifications
            if each["method"] == "notifications/progress"
        ]
        numbers = [each["progress"] for each in told]
        assert numbers == sorted(set(numbers))
        assert any("100 of 100" in str(each.get("message")) for each in told)


def test_log_messages_are_sent_from_the_level_that_the_client_sets(tmp_path: Path) -> None:
    """None before; then decisions, refusals as warnings."""
    with pipe_server(tmp_path, "--policy", policy_file(tmp_path, allow=["math.add"])) as server:
        server.call("math_add", a=1, b=2)
        assert not server.notifications
        assert server.request("logging/setLevel", {"level": "info"}) == {}
        server.call("math_add", a=1, b=2)
        message = server.notification("notifications/message")["params"]
        assert message["level"] == "info"
        assert message["data"]["function"] == "math.add"
        assert message["data"]["decision"] == "allow"
        assert server.request("logging/setLevel", {"level": "warning"}) == {}
        server.call("math_add", a=1, b=2)
        server.call("execute_code", code="await caps.math.add(1, 2)")
        assert not server.notifications


BAD = {
    "not JSON": (b"{nope\n", -32700),
    "not an object": (b"[1, 2]\n", -32600),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600),
    "no method": (b'{"jsonrpc":"2.0","id":1}\n', -32600),
    "another version": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', -32600),
    "an id that is an object": (b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600),
    "bytes": (b"\xff\xfe\x00\n", -32700),
    "deep": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 100_000 + b"\n", -32700),
    "deep and closed": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":'
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}}\n",
        -32700,
    ),
    "too long": (b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (9 << 20) + b'"}\n', -32600),
}


def test_bad_messages_are_answered_and_skipped(tmp_path: Path) -> None:
    """Each is one error without an id; the next message is read as if nothing had been."""
    with pipe_server(tmp_path, "--policy", policy_file(tmp_path)) as server:
        for name, (data, code) in BAD.items():
            server.send_raw(data)
            answer = server.receive()
            assert (name, answer["id"], answer["error"]["code"]) == (name, None, code)
            server.send_raw(b"\n \n")
            assert server.request("ping") == {}
        error = server.answer(server.begin("no/such", {}))["error"]
        assert error["code"] == -32601
        error = server.answer(server.begin("tools/call", {"name": 3}))["error"]
        assert error["code"] == -32602
        error = server.answer(server.begin("tools/list", {"cursor": "x"}))["error"]
        assert error["code"] == -32602
        deep: list[object] = []
        for _ in range(100):
            deep = [deep]
        result = server.call("execute_code", code="1", inputs={"deep": deep})
        assert result["isError"]


def test_a_flood_is_bounded(tmp_path: Path) -> None:
    """All requests are answered, most of them with a refusal; the server goes on."""
    policy = policy_file(tmp_path, allow=["time.now"])
    with pipe_server(tmp_path, "--policy", policy) as server:
        blocking = [
            server.begin("tools/call", {"name": "execute_code", "arguments": {"code": SPIN}})
        ]
        for _ in range(63):
            call = {"name": "execute_code", "arguments": {"code": SPIN}}
            blocking.append(server.begin("tools/call", call))
        more = [server.begin("tools/call", {"name": "time_now"}) for _ in range(500)]
        answers = [server.answer(number) for number in more]
        assert {each["error"]["message"] for each in answers} == {
            "64 requests are under way; wait for some"
        }
        for number in blocking:
            server.send("notifications/cancelled", {"requestId": number})
        while True:
            answer = server.answer(server.begin("tools/call", {"name": "time_now"}))
            if "result" in answer:
                break


def test_a_client_that_reads_nothing_is_not_read_either(tmp_path: Path) -> None:
    """So nothing grows without a bound: writing to it blocks, and all is answered once it reads."""
    ping = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "ping"}).encode() + b"\n"
    policy = policy_file(tmp_path)
    with pipe_server(tmp_path, "--policy", policy, initialize=False, reads=False) as server:
        assert server.process.stdin is not None
        pipe, sent = server.process.stdin.fileno(), 0
        poll = select.poll()
        poll.register(pipe, select.POLLOUT)
        while poll.poll(5000):
            sent += os.write(pipe, ping * 50)  # less than a page, so it is written whole
            assert sent < 16 << 20, "it reads on and on"
        server.start_reading()
        for _ in range(sent // len(ping)):
            assert server.receive()["id"] == 0


def test_nothing_else_is_on_standard_output(tmp_path: Path) -> None:
    """A provider that prints, or a child that inherits descriptors, does not reach the protocol."""
    registry = ("--registry", "support.noisy_functions:registry")
    policy = policy_file(tmp_path, allow=["noise.*"])
    with pipe_server(tmp_path, "--policy", policy, *registry) as server:
        assert server.call("noise_make")["structuredContent"] == {"result": "done"}
        failed = server.call("noise_fail")
        assert failed["isError"]
        assert "/secret/place" not in json.dumps(failed)
        assert server.request("ping") == {}
    errors = b"".join(server.errors)
    assert b"printed by the provider" in errors
    assert b"printed by a child" in errors
