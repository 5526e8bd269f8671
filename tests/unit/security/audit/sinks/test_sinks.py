"""Sinks: what each kind receives, what is refused as one, and what happens when one fails."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from caps.protocol.errors import AuditError, ConfigurationError
from caps.security.audit import (
    AuditLog,
    VerifyStatus,
    read_records,
    verify_log,
)
from caps.security.audit.files.tail import log_id
from caps.security.audit.signing.checkpoint import CHECKPOINTS
from caps.security.audit.signing.finish_rotation import rotate_key_of
from caps.security.audit.sinks.interface import Delivery, SinkError
from caps.security.audit.sinks.streams import FileSink, StdoutSink
from caps.security.audit.sinks.urls import SinkAddress, parse_sink
from support.audit_examples import decision, open_beneath, request_ids
from support.receivers import LineReceiver

pytestmark = pytest.mark.anyio


async def write(directory: Path, sinks: Sequence[str], *names: str, **settings: Any) -> None:
    """Decisions with these request ids, one after the other."""
    made = [patient(url) for url in sinks]
    async with AuditLog.open(directory, sinks=made, **settings) as log:
        for name in names:
            await log.append(decision(name))


def patient(url: str) -> SinkAddress:
    """Not late on a machine that is slow: what is tested is what comes, and not how soon."""
    if "deadline_ms=" not in url:
        url += f"{'&' if '?' in url else '?'}deadline_ms=20000"
    return parse_sink(url)


@pytest.fixture
def receiver() -> Iterator[LineReceiver]:
    made = LineReceiver()
    yield made
    made.stop()


class TestAFile:
    async def test_is_a_log_of_its_own(self, tmp_path: Path) -> None:
        """The same chain, with checkpoints, that verifies with the same key."""
        log, copy = tmp_path / "log", tmp_path / "copy"
        await write(log, [f"file://{copy}"], "a", "b")
        assert request_ids(copy) == ["a", "b"]
        report = verify_log(copy, public_key=log / "signing.pub")
        assert (report.status, report.signed_seq) == (VerifyStatus.OK, 3)

    async def test_gets_what_others_wrote_and_what_it_missed(self, tmp_path: Path) -> None:
        """Records by processes that do not know it, before and between ours."""
        log, copy = tmp_path / "log", tmp_path / "copy"
        await write(log, [], "before")
        async with AuditLog.open(log, sinks=[patient(f"file://{copy}")]) as opened:
            await opened.append(decision("a"))
            await anyio.to_thread.run_sync(rotate_key_of, log)
            await opened.append(decision("b"))
        assert request_ids(copy) == ["before", "a", "b"]
        assert verify_log(copy).status is VerifyStatus.OK

    @pytest.mark.parametrize("mode", ["required", "best_effort"])
    async def test_that_comes_later_begins_at_the_beginning(
        self, tmp_path: Path, mode: str
    ) -> None:
        """In every mode, and it continues after a restart."""
        log, copy = tmp_path / "log", tmp_path / "copy"
        await write(log, [], "before")
        for name in ("a", "b"):
            await write(log, [f"file://{copy}?mode={mode}&deadline_ms=20000"], name)
        assert request_ids(copy) == ["before", "a", "b"]
        assert verify_log(copy).status is VerifyStatus.OK

    async def test_has_the_records_that_its_checkpoints_pin(self, tmp_path: Path) -> None:
        """Also those that a process wrote that does not know it."""
        log, copy = tmp_path / "log", tmp_path / "copy"
        async with (
            AuditLog.open(log) as other,
            AuditLog.open(log, sinks=[patient(f"file://{copy}")]) as opened,
        ):
            await opened.append(decision("a"))
            for name in ("b", "c"):
                await other.append(decision(name))
        assert request_ids(copy) == ["a", "b", "c"]
        assert verify_log(copy).status is VerifyStatus.OK

    async def test_leaves_nothing_open(self, tmp_path: Path) -> None:
        """Neither the file nor the line before it."""
        log, copy = tmp_path / "log", tmp_path / "copy"
        async with AuditLog.open(log, sinks=[patient(f"file://{copy}")]) as opened:
            await opened.append(decision("a"))
            assert open_beneath(copy)
        assert open_beneath(copy) == []

    async def test_that_is_cut_within_a_write_is_filled_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The copy has no hole; what it lost comes from the log."""
        log, copy = tmp_path / "log", tmp_path / "copy"
        append, left = FileSink._append, [1]

        def cutting(sink: FileSink, data: bytes, end: int) -> None:
            if b'"request_id":"b"' in data and left:
                left.clear()
                os.truncate(copy / "audit-000001.jsonl", 100)
            append(sink, data, end)

        monkeypatch.setattr(FileSink, "_append", cutting)
        made = patient(f"file://{copy}?mode=best_effort")
        async with AuditLog.open(log, sinks=[made]) as opened:
            await opened.append(decision("a"))
            await opened.append(decision("b"))
        await write(log, [f"file://{copy}"], "c")
        assert not left
        assert request_ids(copy) == ["a", "b", "c"]
        assert verify_log(copy).status is VerifyStatus.OK

    async def test_that_holds_another_log_is_refused(self, tmp_path: Path) -> None:
        """Two chains in one file would be none."""
        await write(tmp_path / "one", [f"file://{tmp_path}/copy"], "a")
        with pytest.raises(AuditError, match="another log"):
            await write(tmp_path / "two", [f"file://{tmp_path}/copy"], "a")
        with pytest.raises(AuditError, match="the log itself"):
            await write(tmp_path / "one", [f"file://{tmp_path}/one"], "a")


class TestSyslog:
    async def test_over_tcp_counts_octets(self, tmp_path: Path, receiver: LineReceiver) -> None:
        """Each message says its length, its severity, its kind and its number."""
        url = f"syslog+tcp://127.0.0.1:{receiver.port}?facility=16&app=gate"
        denied = decision("d", decision="deny")
        async with AuditLog.open(tmp_path, sinks=[patient(url)]) as log:
            await log.append(decision("a"))
            await log.append(denied)
        assert receiver.has(b'"request_id":"d"')
        messages = list(_octet_counted(receiver.received))
        heads = [message.split(b" ", 7) for message in messages]
        assert [head[0] for head in heads] == [b"<134>1", b"<134>1", b"<132>1"]
        assert heads[2][3] == b"gate"
        assert heads[2][5] == b"decision_made"
        assert b'[meta sequenceId="3"] {' in messages[2]
        bodies = [message.partition(b"] ")[2] for message in messages]
        assert b"\n".join(bodies) + b"\n" == (tmp_path / "audit-000001.jsonl").read_bytes()

    async def test_gets_a_checkpoint_after_what_it_pins(
        self, tmp_path: Path, receiver: LineReceiver
    ) -> None:
        """With each commit, too, which makes the checkpoint before it returns."""
        url = f"syslog+tcp://127.0.0.1:{receiver.port}?checkpoints=1"
        await write(tmp_path, [url], "a", "b", "c", checkpoint_every=1)
        assert receiver.has(b'"request_id":"c"')
        seen: set[int] = set()
        for message in _octet_counted(receiver.received):
            body = json.loads(message.partition(b"] ")[2])
            if "kind" in body:
                seen.add(body["seq"])
            assert body["seq"] in seen
        assert seen == {1, 2, 3, 4}

    @pytest.mark.parametrize("kind", ["unix", "udp"])
    async def test_by_datagrams(self, tmp_path: Path, kind: str) -> None:
        """One message each; a record that is too long goes as its envelope."""
        unix = kind == "unix"
        family = socket.AF_UNIX if unix else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as server:
            server.bind(str(tmp_path / "socket") if unix else ("127.0.0.1", 0))
            server.settimeout(20)
            place = f"{tmp_path}/socket" if unix else f"127.0.0.1:{server.getsockname()[1]}"
            long = decision("long", shown={f"f{n}": "x" * 1000 for n in range(64)})
            made = [patient(f"syslog+{kind}://{place}")]
            async with AuditLog.open(tmp_path / "log", sinks=made) as log:
                await log.append(long)
            server.recv(65536)
            body = json.loads(server.recv(65536).partition(b"] ")[2])
        assert body["cut_from_bytes"] > 60_000
        assert body["hash"] == list(read_records(tmp_path / "log"))[1].hash

    async def test_a_restart_goes_on_where_the_sink_had_got(
        self, tmp_path: Path, receiver: LineReceiver
    ) -> None:
        """What was written while it was not configured is sent, what it had is not."""
        url = f"syslog+tcp://127.0.0.1:{receiver.port}"
        await write(tmp_path, [url], "a")
        await write(tmp_path, [], "b")
        await write(tmp_path, [url], "c")
        assert receiver.has(b'"request_id":"c"')
        numbers = [
            json.loads(message.partition(b"] ")[2])["seq"]
            for message in _octet_counted(receiver.received)
        ]
        assert numbers == [1, 2, 3, 4]


def _octet_counted(data: bytes) -> Iterator[bytes]:
    while data:
        length, _, rest = data.partition(b" ")
        yield rest[: int(length)]
        data = rest[int(length) :]


class TestADatabase:
    async def test_has_each_record_once(self, tmp_path: Path) -> None:
        """Also those of before, and a second run adds only what is new."""
        url = f"sqlite:///{tmp_path}/audit.db"
        await write(tmp_path / "log", [], "before")
        await write(tmp_path / "log", [url], "a")
        await write(tmp_path / "log", [url], "b")
        with sqlite3.connect(tmp_path / "audit.db") as database:
            rows = database.execute(
                "select seq, kind, decision, line from caps_audit_records where log = ? order by 1",
                (log_id(tmp_path / "log"),),
            ).fetchall()
            (pins,) = database.execute("select count(*) from caps_audit_checkpoints").fetchone()
        database.close()
        lines = (tmp_path / "log" / "audit-000001.jsonl").read_text().splitlines()
        assert [row[3] for row in rows] == lines
        assert rows[2][:3] == (3, "decision_made", "allow")
        assert pins == len((tmp_path / "log" / CHECKPOINTS).read_bytes().splitlines())

    async def test_with_a_hole_is_filled(self, tmp_path: Path) -> None:
        """A deleted row comes back with the next start."""
        url = f"sqlite:///{tmp_path}/audit.db"
        await write(tmp_path / "log", [url], "a", "b")
        with sqlite3.connect(tmp_path / "audit.db") as database:
            database.execute("delete from caps_audit_records where seq = 2")
        database.close()
        await write(tmp_path / "log", [url], "c")
        with sqlite3.connect(tmp_path / "audit.db") as database:
            rows = database.execute("select seq from caps_audit_records order by 1").fetchall()
        database.close()
        assert [row[0] for row in rows] == [1, 2, 3, 4]


class _Collector(BaseHTTPRequestHandler):
    """Takes OTLP over HTTP, and keeps what it decodes."""

    answer = 200
    received: list[ExportLogsServiceRequest]

    def do_POST(self) -> None:
        request = ExportLogsServiceRequest()
        request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
        if self.answer == 200:
            self.received.append(request)
        self.send_response(self.answer)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def collector() -> Iterator[Any]:
    handler = type("Handler", (_Collector,), {"received": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.handler = handler  # type: ignore[attr-defined]
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _otlp_records(collector: Any) -> list[Any]:
    return [
        record
        for request in collector.handler.received
        for resource in request.resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]


class TestOtlp:
    async def test_sends_each_record_as_a_log_record(self, tmp_path: Path, collector: Any) -> None:
        """The body is the line; what to filter by is in the attributes."""
        url = f"otlp+http://127.0.0.1:{collector.server_port}"
        await write(tmp_path, [url], "a")
        records = _otlp_records(collector)
        lines = (tmp_path / "audit-000001.jsonl").read_text().splitlines()
        assert [record.body.string_value for record in records] == lines
        attributes = {item.key: item.value for item in records[1].attributes}
        assert attributes["caps.capability"].string_value == "files.read"
        assert attributes["caps.seq"].int_value == 2
        assert attributes["caps.log"].string_value == log_id(tmp_path)
        assert records[1].event_name == "caps.audit.decision_made"

    async def test_that_is_refused_is_a_failure(self, tmp_path: Path, collector: Any) -> None:
        """An answer that is not 2xx acknowledges nothing."""
        collector.handler.answer = 400
        url = f"otlp+http://127.0.0.1:{collector.server_port}?deadline_ms=2000"
        with pytest.raises(AuditError, match="did not accept"):
            await write(tmp_path, [url], "a")


class TestWhatTheLogSaysOfItself:
    """That it was repaired, and that another key signs: to every sink, like all other records."""

    @pytest.fixture(params=["syslog", "otlp", "stdout"])
    def sink(
        self,
        request: pytest.FixtureRequest,
        receiver: LineReceiver,
        collector: Any,
        capfd: pytest.CaptureFixture[str],
    ) -> tuple[str, Callable[[str], list[str]]]:
        """The url of one that keeps nothing, and all lines that it got up to a last one."""
        options = "mode=best_effort&deadline_ms=20000"
        if request.param == "syslog":
            url = f"syslog+tcp://127.0.0.1:{receiver.port}?{options}"
            return url, lambda last: _bodies(receiver, last)
        if request.param == "otlp":
            url = f"otlp+http://127.0.0.1:{collector.server_port}?{options}"
            return url, lambda _: [one.body.string_value for one in _otlp_records(collector)]
        return f"stdout:?{options}", lambda _: capfd.readouterr().out.splitlines()

    async def test_reaches_a_sink_from_the_opening_to_the_end(
        self, tmp_path: Path, sink: tuple[str, Callable[[str], list[str]]]
    ) -> None:
        """The copy is the log from the first record that this process wrote, in its order."""
        url, received = sink
        await write(tmp_path, [], "before")
        segment = tmp_path / "audit-000001.jsonl"
        there = len(segment.read_text().splitlines())
        _tear(segment)
        async with AuditLog.open(tmp_path, sinks=[parse_sink(url)]) as log:
            await log.append(decision("a"))
            await anyio.to_thread.run_sync(log.rotate_key)
            await log.append(decision("b"))
            _tear(segment)  # found when the end is signed
        lines = segment.read_text().splitlines()[there:]
        assert received(lines[-1]) == lines
        assert [json.loads(line)["kind"] for line in lines] == [
            "log_recovered",
            "decision_made",
            "key_rotated",
            "decision_made",
            "log_recovered",
        ]
        assert verify_log(tmp_path).status is VerifyStatus.OK

    async def test_reaches_it_though_the_step_failed_half_way(
        self, tmp_path: Path, receiver: LineReceiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is in the log is offered: the record of a key whose checkpoint could not be made."""
        url = f"syslog+tcp://127.0.0.1:{receiver.port}?mode=best_effort&deadline_ms=20000"
        async with AuditLog.open(tmp_path, sinks=[parse_sink(url)]) as log:
            with monkeypatch.context() as patched, pytest.raises(AuditError):
                patched.setattr(os, "fdatasync", _SecondFails(os.fdatasync))
                await anyio.to_thread.run_sync(log.rotate_key)
            await log.append(decision("after"))
        lines = (tmp_path / "audit-000001.jsonl").read_text().splitlines()
        assert _bodies(receiver, lines[-1]) == lines
        assert b'"kind":"key_rotated"' in receiver.received

    @pytest.mark.process
    async def test_is_sent_by_the_command_that_rotates_a_key(
        self, tmp_path: Path, receiver: LineReceiver
    ) -> None:
        """It feeds the sinks of the environment, and its own output stays its own."""
        url = f"syslog+tcp://127.0.0.1:{receiver.port}?mode=best_effort&deadline_ms=20000"
        await write(tmp_path, [], "a")
        caps = Path(sys.executable).with_name("caps")
        done = await anyio.run_process(
            [caps, "audit", "rotate-key", "--audit", tmp_path, "--json"],
            env={**os.environ, "CAPS_AUDIT_SINKS": f"{url} stdout:"},
        )
        assert set(json.loads(done.stdout)) == {"old_key_id", "new_key_id"}
        assert receiver.has(b'"kind":"key_rotated"')


def _tear(segment: Path) -> None:
    """As a write that a crash cut short leaves it."""
    with segment.open("ab") as file:
        file.write(b'{"seq":')


class _SecondFails:
    """A disk that syncs once more, and not again."""

    def __init__(self, real: Callable[[int], None]) -> None:
        self._real = real
        self._left = 1

    def __call__(self, fd: int) -> None:
        self._left -= 1
        if self._left < 0:
            raise OSError(5, "Input/output error")
        self._real(fd)


def _bodies(receiver: LineReceiver, last: str) -> list[str]:
    assert receiver.has(last.encode())
    messages = _octet_counted(receiver.received)
    return [message.partition(b"] ")[2].decode() for message in messages]


class TestStandardOutput:
    def test_gets_lines(self) -> None:
        """As on disk."""
        reader, writer = os.pipe()
        sink = StdoutSink(1, writer)
        sink.connect()
        sink.deliver([Delivery(1, b'{"seq":1}'), Delivery(2, b'{"seq":2}')])
        assert os.read(reader, 100) == b'{"seq":1}\n{"seq":2}\n'
        os.close(reader)
        os.close(writer)

    def test_that_nobody_reads_is_a_failure_and_no_hang(self) -> None:
        """A full pipe is abandoned at the deadline."""
        reader, writer = os.pipe()
        sink = StdoutSink(0.05, writer)
        with pytest.raises(SinkError, match="nobody reads"):
            for _ in range(100):
                sink.deliver([Delivery(1, b"x" * 4000)])
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "an audit sink is a url"),
        ("pigeon://roof", "`pigeon` is not a kind of audit sink"),
        ("syslog+tcp://", "has no host"),
        ("syslog+tcp://host:99999999", "is not a valid url"),
        ("syslog+udp://host?facility=99", None),
        ("file://relative/path", "has no absolute path"),
        ("sqlite:///", "has no absolute path"),
        ("stdout://somewhere", "has no place"),
        ("stdout:?mode=hunter2", "mode is neither `required` nor"),
        ("stdout:?deadline_ms=0", "deadline_ms is not an integer"),
        ("stdout:?queue=hunter2", "queue is not an integer"),
        ("stdout:?checkpoints=hunter2", "checkpoints is neither 1 nor 0"),
        ("syslog+udp://host?facility=hunter2", "facility is not"),
        ("stdout:?colour=red", "has no option `colour`"),
        ("stdout:?mode=required&mode=required", "an option twice"),
        ("otlp+http://user:hunter2@host", "takes no user"),
        ("postgresql://user:hunter2@host/db?mod=required", "has no option `mod`"),
        ("postgresql://user:hunter2@host/db#x", "has a fragment"),
        ("postgresql://user:hunter2@host/db?sslmode=hunter2", "sslmode is not one of"),
        ("postgresql://user:hunter2@host/", "names no database"),
        ("postgresql://host/db;password=hunter2", "names no database"),
        ("postgresql:///user:hunter2/db", "names no database"),
        ("postgresql:///user%3Ahunter2", "names no database"),
        ("postgresql:///hunter2%40host", "names no database"),
        ("postgresql:user:hunter2@host/db", "has no `//`"),
        ("postgresql:/user:hunter2@host", "has no `//`"),
        ("postgresql:///user:hunter2@host/db", "has an `@` behind its host"),
        ("postgresql://user:1/hunter2@host/db", "has an `@` behind its host"),
        ("postgresql://user:1?hunter2=1@host/db", "has an `@` behind its host"),
        ("postgresql://user:1#hunter2@host/db", "has an `@` behind its host"),
        ("otlp+http:///user:hunter2@host/v1/logs", "has an `@` behind its host"),
        ("hunter2:x", "an audit sink is a url"),
    ],
)
def test_a_url_that_is_no_sink_is_told_in_one_line(
    url: str, message: str | None, tmp_path: Path
) -> None:
    """What is wrong, and never a password."""
    with pytest.raises(ConfigurationError) as caught:
        AuditLog.open(tmp_path, sinks=[patient(url)])
    assert message is None or message in caught.value.message
    assert "hunter2" not in caught.value.message
    assert "\n" not in caught.value.message


def test_a_password_is_never_shown() -> None:
    """Neither in the name nor in the repr."""
    address = parse_sink("postgresql://user:hunter2@host:5432/db?mode=best_effort")
    assert address.terms.name == "postgresql://host:5432/db"
    assert "hunter2" not in repr(address)


def test_a_sink_given_twice_is_an_error(tmp_path: Path) -> None:
    """They would share a cursor."""
    twice = [parse_sink("stdout:"), parse_sink("stdout:?mode=best_effort")]
    with pytest.raises(ConfigurationError, match="given twice"):
        AuditLog.open(tmp_path, sinks=twice)
