"""Which compiled programs the host keeps, for how long, and when one is worth compiling."""

from __future__ import annotations

import pytest

from caps.protocol.connection import HostConnection, WorkerConnection
from caps.protocol.errors import ProtocolError
from caps.protocol.messages import (
    CompiledMessage,
    CompileMessage,
    ManifestMessage,
    ReadyMessage,
    StartedMessage,
    StartMessage,
    WorkerLimits,
)
from caps.worker.host.pool.program_cache import ProgramCache, ProgramKey

LIMITS = WorkerLimits(cpu_ms=1, memory_mb=1, concurrency=1)


def key(
    source: str = "1", filename: str = "f", language: str = "l", python: str = "p"
) -> ProgramKey:
    return ProgramKey(source, filename, language, python)


class TestAProgram:
    def test_is_found_under_all_that_decides_what_it_is(self) -> None:
        """Another source, file name, language layer or Python is another program."""
        programs = ProgramCache()
        programs.store(key(), b"x")
        assert programs.find(key()) == b"x"
        for other in (key(source="2"), key(filename="g"), key(language="m"), key(python="q")):
            assert programs.find(other) == b""

    def test_is_wanted_when_it_is_seen_again(self) -> None:
        """Most sources are seen once, and are not worth a process."""
        programs = ProgramCache()
        assert [programs.should_compile(key()) for _ in range(3)] == [False, True, True]
        assert not programs.should_compile(key("another"))

    def test_that_is_here_is_not_wanted(self) -> None:
        """Nor one that could not be compiled."""
        programs = ProgramCache()
        for known, program in ((key("good"), b"x"), (key("bad"), b"")):
            programs.store(known, program)
            assert [programs.should_compile(known) for _ in range(3)] == [False] * 3

    def test_of_a_worker_that_names_no_language_is_never_wanted(self) -> None:
        """It is unknown which worker could use it."""
        programs = ProgramCache()
        assert [programs.should_compile(key(language="")) for _ in range(3)] == [False] * 3


class TestTheBounds:
    def test_on_their_number_drop_what_was_used_longest_ago(self) -> None:
        """One that is found counts as used."""
        programs = ProgramCache(max_programs=2)
        programs.store(key("a"), b"a")
        programs.store(key("b"), b"b")
        assert programs.find(key("a")) == b"a"
        programs.store(key("c"), b"c")
        assert [programs.find(key(one)) for one in "abc"] == [b"a", b"", b"c"]

    def test_on_their_bytes_count_the_sources_too(self) -> None:
        """A long source with a short program takes as much room."""
        programs = ProgramCache(max_bytes=1000)
        programs.store(key("a" * 100), b"a" * 400)
        programs.store(key("b" * 200), b"")
        assert programs.find(key("a" * 100)) == b""
        assert len(programs) == 1

    def test_leave_out_what_alone_is_too_large(self) -> None:
        """And store the others."""
        programs = ProgramCache(max_bytes=1000)
        programs.store(key("a"), b"a")
        programs.store(key("b"), b"b" * 1001)
        assert (programs.find(key("a")), programs.find(key("b"))) == (b"a", b"")

    def test_are_kept_when_a_program_is_filed_anew(self) -> None:
        """It is counted once."""
        programs = ProgramCache(max_bytes=300)
        for _ in range(10):
            programs.store(key("a"), b"a" * 100)
        programs.store(key("b"), b"b" * 100)
        assert (len(programs.find(key("a"))), len(programs.find(key("b")))) == (100, 100)


def ready_pair() -> tuple[HostConnection, WorkerConnection]:
    host, worker = HostConnection(), WorkerConnection()
    ready = ReadyMessage(protocol=1, python="3", **worker.stamp())
    host.receive(worker.send(ready))
    return host, worker


def forged(execution: str, number: int) -> bytes:
    """What a lying worker would send to have its bytes kept."""
    hostile = WorkerConnection()
    hostile.send(ReadyMessage(protocol=1, python="3", **hostile.stamp()))
    hostile.receive(
        (asking := _asked_host()).send(
            CompileMessage(source="", filename="f", limits=LIMITS, **asking.stamp())
        )
    )
    identity = f"{execution}:{number}"
    return hostile.send(CompiledMessage(program=b"poison", id=identity, timestamp=1.0))


def _asked_host() -> HostConnection:
    return ready_pair()[0]


class TestTheChannel:
    def test_takes_a_program_from_a_worker_that_was_asked_to_compile(self) -> None:
        """The only way to one."""
        host, worker = ready_pair()
        order = CompileMessage(source="1", filename="f", limits=LIMITS, **host.stamp())
        worker.receive(host.send(order))
        (told,) = host.receive(worker.send(CompiledMessage(program=b"x", **worker.stamp())))
        assert isinstance(told, CompiledMessage)
        assert told.program == b"x"

    @pytest.mark.parametrize("started", [False, True])
    def test_takes_none_from_a_worker_that_has_code(self, started: bool) -> None:
        """Before its code runs as little as afterwards: it ends the execution."""
        host, worker = ready_pair()
        manifest = ManifestMessage(
            execution_id="e", namespace="caps", policy_id="p", capabilities=[], **host.stamp()
        )
        worker.receive(host.send(manifest))
        worker.receive(
            host.send(StartMessage(source="1", filename="f", limits=LIMITS, **host.stamp()))
        )
        if started:
            host.receive(worker.send(StartedMessage(**worker.stamp())))
        with pytest.raises(ProtocolError) as caught:
            host.receive(forged("e", 1 + started))
        assert caught.value.details["violation"] == "out_of_turn"

    def test_hands_no_code_to_a_compiler(self) -> None:
        """A compiler process never runs anything."""
        host, _ = ready_pair()
        host.send(CompileMessage(source="1", filename="f", limits=LIMITS, **host.stamp()))
        with pytest.raises(ProtocolError):
            host.send(StartMessage(source="1", filename="f", limits=LIMITS, **host.stamp()))
        with pytest.raises(ProtocolError):
            host.send(
                ManifestMessage(
                    execution_id="e",
                    namespace="caps",
                    policy_id="p",
                    capabilities=[],
                    **host.stamp(),
                )
            )
