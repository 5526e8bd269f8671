"""A real `caps mcp serve` in a process of its own: on pipes, with a client that may misbehave, or
over HTTP."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 60
PROTOCOL = "2025-11-25"
_CODE = "from caps.cli.main import main; main()"


def environment(state: Path, **more: str) -> dict[str, str]:
    """Nothing of the user's but the way to programs."""
    given = {
        "PATH": os.environ["PATH"],
        "XDG_STATE_HOME": str(state),
        "CAPS_DATABASE_URL": f"sqlite:///{state}/caps.db",
        "CAPS_ISOLATION": os.environ.get("CAPS_ISOLATION", ""),
        **more,
    }
    return {name: value for name, value in given.items() if value}


def command(*options: str) -> list[str]:
    return [sys.executable, "-c", _CODE, "mcp", "serve", *options]


def policy_file(state: Path, **keys: Any) -> str:
    """The path of a policy with these keys."""
    path = state / f"{keys.get('id', 'policy')}.json"
    path.write_text(json.dumps({"version": 1, "id": "operator", **keys}))
    return str(path)


class PipeServer:
    """A server on pipes. Messages are sent as they are, also bad ones."""

    def __init__(self, state: Path, *options: str, reads: bool = True) -> None:
        """Without `reads`, nobody reads what it answers until `start_reading`."""
        self.process = subprocess.Popen(
            command("--audit", str(state / "audit"), *options),
            env=environment(state),
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.notifications: list[dict[str, Any]] = []
        self.errors: list[bytes] = []
        self._answers: dict[Any, dict[str, Any]] = {}
        self._number = 0
        self._errors_reader = threading.Thread(target=self._read_errors, daemon=True)
        self._errors_reader.start()
        if reads:
            self.start_reading()

    def start_reading(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line)

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, params: Any = None, number: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if number is not None:
            message["id"] = number
        self.send_raw(json.dumps(message).encode() + b"\n")

    def receive(self) -> dict[str, Any]:
        """The next message: every line of standard output must be one."""
        line = self.lines.get(timeout=SECONDS)
        assert line is not None, b"".join(self.errors).decode()
        message = json.loads(line)
        assert isinstance(message, dict)
        assert message["jsonrpc"] == "2.0"
        return message

    def answer(self, number: Any) -> dict[str, Any]:
        """The answer with this id; others wait, and notifications are kept."""
        while number not in self._answers:
            message = self.receive()
            if "method" in message:
                self.notifications.append(message)
            else:
                self._answers[message.get("id")] = message
        return self._answers.pop(number)

    def begin(self, method: str, params: Any = None) -> int:
        self._number += 1
        self.send(method, params, self._number)
        return self._number

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """The result."""
        answer = self.answer(self.begin(method, params))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def notification(self, method: str) -> dict[str, Any]:
        """The next notification of this method."""
        while True:
            for place, found in enumerate(self.notifications):
                if found["method"] == method:
                    return self.notifications.pop(place)
            message = self.receive()
            if "method" in message:
                self.notifications.append(message)
            else:
                self._answers[message.get("id")] = message

    def initialize(self, version: str = PROTOCOL) -> dict[str, Any]:
        client = {"name": "tests", "version": "1"}
        result = self.request(
            "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        )
        self.send("notifications/initialized")
        return result

    def end(self) -> int:
        """Close standard input, and wait for the end."""
        assert self.process.stdin is not None
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(SECONDS)
        self._errors_reader.join(10)
        return code


@contextmanager
def pipe_server(
    state: Path, *options: str, initialize: bool = True, reads: bool = True
) -> Iterator[PipeServer]:
    server = PipeServer(state, *options, reads=reads)
    try:
        if initialize:
            server.initialize()
        yield server
        server.end()
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait(SECONDS)
        for stream in (server.process.stdin, server.process.stdout, server.process.stderr):
            if stream is not None and not stream.closed:
                stream.close()


@contextmanager
def http_server(
    state: Path, *options: str, variables: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The address of a server over HTTP."""
    process = subprocess.Popen(
        command("--http", "--port", "0", "--audit", str(state / "audit"), *options),
        env=environment(state, **(variables or {})),
        cwd=Path(__file__).parents[1],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    log: list[str] = []
    ready: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            log.append(line)
            if "serving on " in line:
                ready.put(line.split()[-1])
        ready.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        address = ready.get(timeout=SECONDS)
        assert address is not None, "".join(log)
        yield address
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)
        reader.join(10)
        process.stderr.close()
