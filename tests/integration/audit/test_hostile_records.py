"""No content of a record stops a sink, or holds up the record after it."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from caps import AuditError, AuditSettings, Runtime
from caps.security.audit import (
    AuditEvent,
    AuditLog,
    Durability,
    SinkFailed,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.security.audit.files.reader import FIRST_SEGMENT
from caps.security.audit.sinks.urls import parse_sink
from support.audit_examples import decision
from support.hostile_values import hostile_events, random_texts
from support.postgres import Postgres, running_postgres

BOTH = pytest.mark.parametrize("mode", ["required", "best_effort"])


@pytest.fixture(scope="module")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """One server; each test has its own database."""
    place = tmp_path_factory.mktemp("postgresql")
    with pytest.MonkeyPatch.context() as patched, running_postgres(place, patched) as made:
        yield made


def feed(log: Path, url: str, mode: str, events: Sequence[AuditEvent] | None = None) -> list[str]:
    """Append hostile records, in batches and one by one, and a harmless one; the log's lines.

    The sink must never have been down.
    """
    hostile = hostile_events() if events is None else list(events)
    address = parse_sink(f"{url}{'&' if '?' in url else '?'}mode={mode}&deadline_ms=30000")

    async def main() -> None:
        async with AuditLog.open(log, sinks=[address], durability=Durability.OS) as opened:
            await opened.append_all(hostile)
            for event in hostile[:8]:
                await opened.append(event)
            await opened.append(decision("harmless"))

    anyio.run(main)
    assert not [one for one in read_records(log) if isinstance(one.event, SinkFailed)]
    assert verify_log(log).status is VerifyStatus.OK
    return (log / FIRST_SEGMENT).read_text("utf-8").split("\n")[:-1]


def random_events() -> list[AuditEvent]:
    return [
        decision(f"r{n}", capability=text, principal=text, agent=text, session=text)
        for n, text in enumerate(random_texts(13, 60))
    ]


class TestPostgresql:
    pytestmark = pytest.mark.process

    @BOTH
    def test_has_every_record(self, tmp_path: Path, postgresql: Postgres, mode: str) -> None:
        """The line as on disk; the columns without a control character, and not too long."""
        url = postgresql.create(f"all_{mode}")
        lines = feed(tmp_path / "log", url, mode, hostile_events() + random_events())
        query = "select line, principal, capability, execution_id from caps_audit_records"
        rows = postgresql.query(f"{query} order by seq", f"all_{mode}")
        assert [row[0] for row in rows] == lines
        cells = [cell for row in rows for cell in row[1:] if cell is not None]
        assert "a\\x00b\\x00" in cells
        assert max(map(len, cells)) == 512
        assert not [cell for cell in cells if set(cell) & set(map(chr, range(32)))]

    @pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
    def test_in_another_encoding_gets_ascii(
        self, tmp_path: Path, postgresql: Postgres, encoding: str
    ) -> None:
        """A record that it cannot store as it is; nothing of the record is lost."""
        url = postgresql.create(f"in_{encoding}".lower(), encoding)
        lines = feed(tmp_path / "log", url, "required", hostile_events() + random_events())
        rows = postgresql.query(
            "select line from caps_audit_records order by seq", f"in_{encoding}".lower()
        )
        assert [json.loads(row[0]) for row in rows] == [json.loads(line) for line in lines]

    @BOTH
    def test_that_refuses_a_record_gets_its_hash(
        self, tmp_path: Path, postgresql: Postgres, mode: str
    ) -> None:
        """Whatever its reason; the record after it is there in full."""
        url = postgresql.create(f"strict_{mode}")
        feed(tmp_path / "first", url, "required", [decision("first")])
        postgresql.query(
            "alter table caps_audit_records add check (length(line) < 3000)", f"strict_{mode}"
        )
        lines = feed(tmp_path / "log", url, mode)
        log = json.loads(lines[0])["writer"]
        rows = postgresql.query(
            f"select line, hash from caps_audit_records where log = '{log}' order by seq",
            f"strict_{mode}",
        )
        assert [row[1] for row in rows] == [json.loads(line)["hash"] for line in lines]
        for (stored, _), line in zip(rows, lines, strict=True):
            if len(line) < 3000:
                assert stored == line
            else:
                assert json.loads(stored)["cut_from_bytes"] == len(line.encode())

    def test_whoever_runs_code_others_can_go_on(self, tmp_path: Path, postgresql: Postgres) -> None:
        """A principal with a NUL, as an embedding program may pass it, and then another one."""
        settings = AuditSettings(
            directory=tmp_path / "log",
            sinks=(f"{postgresql.create('runtime')}&deadline_ms=30000",),  # type: ignore[arg-type]
        )
        with Runtime({}, audit=settings) as runtime:
            assert runtime.run_sync("1", principal="a\0b", agent="\0").ok
            assert runtime.run_sync("1", principal="honest").ok
        found = postgresql.query("select distinct principal from caps_audit_records", "runtime")
        assert {"a\\x00b", "honest"} <= {row[0] for row in found}


class TestFiles:
    @BOTH
    def test_sqlite_has_every_record(self, tmp_path: Path, mode: str) -> None:
        """The line as on disk."""
        place = tmp_path / "audit.db"
        events = hostile_events() + random_events()
        lines = feed(tmp_path / "log", f"sqlite://{place}", mode, events)
        with closing(sqlite3.connect(place)) as database:
            rows = database.execute("select line from caps_audit_records order by seq").fetchall()
        assert [row[0] for row in rows] == lines

    @BOTH
    def test_a_copy_is_the_log(self, tmp_path: Path, mode: str) -> None:
        """And verifies."""
        copy = tmp_path / "copy"
        events = hostile_events() + random_events()
        lines = feed(tmp_path / "log", f"file://{copy}", mode, events)
        assert (copy / FIRST_SEGMENT).read_text("utf-8").split("\n")[:-1] == lines
        assert verify_log(copy).status is VerifyStatus.OK

    @BOTH
    def test_standard_output_gets_lines(
        self, tmp_path: Path, mode: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """One for each record, whatever is in it."""
        lines = feed(tmp_path / "log", "stdout:", mode, hostile_events() + random_events())
        assert capfd.readouterr().out.split("\n")[:-1] == lines

    def test_a_bad_line_among_the_checkpoints_does_not_stop_a_copy(self, tmp_path: Path) -> None:
        """The copy continues; the log itself does not verify."""
        log, copy = tmp_path / "log", tmp_path / "copy"
        feed(log, f"file://{copy}", "required", [decision("a")])
        with (log / "checkpoints.jsonl").open("ab") as file:
            file.write(b"\0\0\0nonsense\n")

        async def go_on() -> None:
            address = parse_sink(f"file://{copy}?deadline_ms=30000")
            async with AuditLog.open(log, sinks=[address]) as opened:
                await opened.append(decision("b"))

        anyio.run(go_on)
        assert verify_log(log).status is VerifyStatus.CHECKPOINT_BAD
        assert verify_log(copy).status is VerifyStatus.OK


class StrictReceiver:
    """A syslog server over TCP that closes a connection with a frame over its limit.

    Its buffer is smaller than a long frame. So its kernel cannot acknowledge all of such a frame
    before the connection is closed, and the sender notices that, however late the receiver reads.
    With `late` its kernel takes all of the frame, and it is closed only after `may_close` is set.
    """

    def __init__(self, limit: int, *, late: bool = False) -> None:
        self.frames: list[bytes] = []
        self.may_close = threading.Event()
        self.has_closed = threading.Event()
        if not late:
            self.may_close.set()
        self._limit = limit
        self._server = socket.socket()
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 * 1024 if late else 4096)
        self._server.bind(("127.0.0.1", 0))
        self._server.listen()
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._server.accept()[0]
            except OSError:
                return
            with connection, connection.makefile("rb") as file:
                while size := self._size(file):
                    self.frames.append(file.read(size))
                self.may_close.wait(30)
            self.has_closed.set()

    def _size(self, file: Any) -> int:
        digits = b""
        while (mark := file.read(1)) not in (b" ", b""):
            digits += mark
        size = int(digits or b"0")
        return size if size <= self._limit else 0

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()


class TestSyslog:
    @pytest.mark.parametrize("kind", ["unix", "udp"])
    @BOTH
    def test_datagrams_carry_every_record(self, tmp_path: Path, kind: str, mode: str) -> None:
        """With a header of printable characters."""
        unix = kind == "unix"
        with socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(str(tmp_path / "s") if unix else ("127.0.0.1", 0))
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 * 1024 * 1024)
            place = f"{tmp_path}/s" if unix else f"127.0.0.1:{server.getsockname()[1]}"
            numbers: list[int] = []
            reading = threading.Thread(target=self._read, args=(server, numbers))
            reading.start()
            lines = feed(tmp_path / "log", f"syslog+{kind}://{place}", mode)
            reading.join(30)
        assert numbers == list(range(1, len(lines) + 1))

    def _read(self, server: socket.socket, numbers: list[int]) -> None:
        body: dict[str, Any] = {}
        while body.get("request_id") != "harmless":
            head, _, data = server.recv(65536).partition(b"] ")
            assert head.decode("ascii").isprintable()
            body = json.loads(data)
            numbers.append(body["seq"])

    def test_a_socket_that_takes_less_gets_the_hash(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The kernel refuses a datagram that its buffer cannot hold."""
        make = socket.socket

        def small(*args: Any, **named: Any) -> socket.socket:
            made = make(*args, **named)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10_000)
            return made

        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
            server.bind(str(tmp_path / "s"))
            numbers: list[int] = []
            reading = threading.Thread(target=self._read, args=(server, numbers))
            reading.start()
            with monkeypatch.context() as patched:
                patched.setattr(socket, "socket", small)
                lines = feed(tmp_path / "log", f"syslog+unix://{tmp_path}/s", "required")
            reading.join(30)
        assert set(numbers) == set(range(1, len(lines) + 1))

    def test_a_receiver_that_closes_on_a_long_record_gets_the_next_ones(
        self, tmp_path: Path
    ) -> None:
        """It is down once, and from then on gets of long records what fits."""
        receiver = StrictReceiver(9_000)
        url = f"syslog+tcp://127.0.0.1:{receiver.port}?deadline_ms=30000"
        long = [
            decision(f"long{n}", shown={f"f{i}": "x" * 1000 for i in range(40)}) for n in range(3)
        ]

        async def main() -> None:
            sinks = [parse_sink(f"{url}&mode=best_effort")]
            async with AuditLog.open(tmp_path / "log", sinks=sinks) as log:
                await log.append(decision("before"))
                for event in long:
                    await log.append(event)
            sinks = [parse_sink(url)]
            async with AuditLog.open(tmp_path / "other", sinks=sinks) as log:
                await log.append(decision("before"))
                with pytest.raises(AuditError, match="is down"):
                    await log.append(long[0])
                while True:
                    try:
                        await log.append(decision("after"))
                        break
                    except AuditError:  # it is not back yet
                        continue

        anyio.run(main)
        receiver.close()
        bodies = [json.loads(frame.partition(b"] ")[2]) for frame in receiver.frames]
        assert "after" in [body.get("request_id") for body in bodies]
        hashes = {record.hash for record in read_records(tmp_path / "other")}
        assert hashes <= {body["hash"] for body in bodies}
        assert any(body.get("cut_from_bytes", 0) > 9_000 for body in bodies)

    def test_a_receiver_that_closes_late_gets_again_what_it_may_not_have_read(
        self, tmp_path: Path
    ) -> None:
        """Its kernel acknowledged the long record and the next one before it closed."""
        receiver = StrictReceiver(9_000, late=True)
        long = decision("long", shown={f"f{i}": "x" * 1000 for i in range(40)})

        async def main() -> None:
            sinks = [parse_sink(f"syslog+tcp://127.0.0.1:{receiver.port}?deadline_ms=30000")]
            async with AuditLog.open(tmp_path, sinks=sinks) as log:
                for event in (decision("before"), long, decision("acknowledged")):
                    await log.append(event)
                receiver.may_close.set()
                assert receiver.has_closed.wait(30)
                while True:
                    try:
                        await log.append(decision("after"))
                        break
                    except AuditError:  # it is not back yet
                        continue

        anyio.run(main)
        receiver.close()
        bodies = [json.loads(frame.partition(b"] ")[2]) for frame in receiver.frames]
        names = [body.get("request_id") for body in bodies]
        assert {"before", "acknowledged", "after"} <= set(names)
        assert {record.hash for record in read_records(tmp_path)} <= {b["hash"] for b in bodies}
        assert any(body.get("cut_from_bytes", 0) > 9_000 for body in bodies)


class _StrictCollector(BaseHTTPRequestHandler):
    """Refuses requests that are too long for it, or contain a string that it cannot process."""

    received: list[Any]

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        request = ExportLogsServiceRequest()
        request.ParseFromString(data)
        records = [
            record
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]
        status = 200
        if len(data) > 300_000:
            status = 413
        elif any("\u00e9" in record.body.string_value for record in records):
            status = 400
        elif any("drop table" in record.body.string_value for record in records):
            status = 500
        else:
            self.received.extend(records)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@BOTH
def test_a_collector_that_refuses_records_gets_all_of_them(tmp_path: Path, mode: str) -> None:
    """As they are, in ASCII, or at least their hash."""
    handler = type("Handler", (_StrictCollector,), {"received": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"otlp+http://127.0.0.1:{server.server_port}"
        lines = feed(tmp_path / "log", url, mode, hostile_events() + random_events())
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    bodies = [json.loads(one.body.string_value) for one in handler.received]  # type: ignore[attr-defined]
    assert [body["hash"] for body in bodies] == [json.loads(line)["hash"] for line in lines]
    for body, line in zip(bodies, lines, strict=True):
        whole = json.loads(line)
        assert body == whole or body["cut_from_bytes"] == len(line.encode())
        assert body == whole or "drop table" in line


def test_a_collector_of_an_operator_with_credentials_is_not_stopped_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the status of an answer is not known."""
    from caps.security.audit.sinks.otlp import OtlpSink

    variable = "OTEL_PYTHON_EXPORTER_OTLP_HTTP_LOGS_CREDENTIAL_PROVIDER"
    monkeypatch.setitem(os.environ, variable, "anything")
    sink = OtlpSink(parse_sink("otlp+http://127.0.0.1:1"), "log")
    assert sink._session() is None
    assert sink._is_of_content()
