"""Calls that wait for a person, with real workers: what is asked, and what an answer covers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from opentelemetry.sdk.trace import TracerProvider
from prometheus_client import CollectorRegistry

from caps import (
    ApprovalAnswer,
    ApprovalRequest,
    AuditError,
    CapabilityRegistry,
    ExecutionResult,
    MemoryAuditLog,
    Metrics,
    Runtime,
    builtin_registry,
)
from caps.security.approvals.approver import DirectoryApprover
from caps.security.approvals.directory import ApprovalDirectory
from caps.security.approvals.model import ApprovalScope
from caps.security.audit import (
    ApprovalOutcome,
    ApprovalRequested,
    ApprovalSettled,
    AuditEvent,
    DecisionMade,
    OutcomeRecorded,
    VerifyStatus,
    read_records,
    verify_log,
)

SCRIPT = Path(sys.executable).with_name("caps")
POLICY: dict[str, Any] = {"id": "boxes", "allow": ["box.*"], "approve": ["box.drop"]}
DROP = "await caps.box.drop(name='a', secret='hunter2')"
DENIED = """
try:
    {call}
except PolicyDeniedError as error:
    got = error.reason
got
"""


def denied(call: str = DROP) -> str:
    return DENIED.format(call=call)


def allowing(**cover: Any) -> ApprovalAnswer:
    return ApprovalAnswer(allowed=True, by="ada", **cover)


@dataclass
class Place:
    """A registry whose `box.drop` notes its effects, and an approver that notes its questions."""

    answer: Callable[[ApprovalRequest], ApprovalAnswer] | None = None
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    asked: list[ApprovalRequest] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)
    samples: CollectorRegistry = field(default_factory=CollectorRegistry)
    is_asked: anyio.Event = field(default_factory=anyio.Event)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Answer immediately, or wait until nobody waits for it."""
        self.asked.append(request)
        self.is_asked.set()
        if self.answer is None:
            await anyio.sleep_forever()
        assert self.answer is not None
        return self.answer(request)

    def registry(self) -> CapabilityRegistry:
        registry = CapabilityRegistry()

        @registry.capability("box.drop", title="Drop a box", shown=("name",))
        async def drop(name: str, secret: str = "") -> str:
            self.effects.append(name)
            return f"dropped {name}"

        @registry.capability("box.look")
        async def look() -> str:
            return "seen"

        @registry.capability("box.asked")
        async def is_asked() -> None:
            await self.is_asked.wait()

        return registry

    @asynccontextmanager
    async def runtime(self, **policy: Any) -> AsyncIterator[Runtime]:
        async with Runtime(
            {**POLICY, **policy},
            registry=self.registry(),
            audit=self.audit,
            metrics=Metrics(self.samples),
            approver=self.approve,
        ) as runtime:
            yield runtime

    async def run(self, source: str, **policy: Any) -> ExecutionResult:
        async with self.runtime(**policy) as runtime:
            return await runtime.run(source, principal="alice", agent="agent-7")

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.audit.events if isinstance(event, kind)]

    @property
    def outcomes(self) -> list[ApprovalOutcome]:
        return [event.outcome for event in self.of(ApprovalSettled)]


@pytest.mark.anyio
class TestOneCall:
    async def test_an_approved_call_goes_on(self) -> None:
        """The code simply waits; who allowed it is on record before it happens."""
        place = Place(lambda request: allowing(reason="it is old"))
        result = await place.run(DROP)
        assert result.unwrap() == "dropped a"
        (request,) = place.asked
        assert (request.capability, request.rule, request.title) == (
            "box.drop",
            "box.drop",
            "Drop a box",
        )
        assert (request.principal, request.agent) == ("alice", "agent-7")
        assert request.execution_id == result.execution_id
        assert (request.shown, request.hidden) == ({"name": "a"}, ["secret"])
        (settled,) = place.of(ApprovalSettled)
        assert (settled.by, settled.note, settled.calls, settled.reach) == (
            "ada",
            "it is old",
            1,
            "execution",
        )
        kinds = [type(event) for event in place.audit.events]
        order = [ApprovalRequested, ApprovalSettled, DecisionMade, OutcomeRecorded]
        assert [kind for kind in kinds if kind in order] == order
        (decision,) = place.of(DecisionMade)
        assert (decision.decision, decision.rule, decision.approval) == (
            "allow",
            "box.*",
            request.id,
        )
        assert result.decisions[0].approval == request.id
        assert b"hunter2" not in b"".join(place.audit.lines)

    async def test_a_denied_call_does_not_happen(self) -> None:
        """The code gets the same error as for any denial, with its own reason."""
        place = Place(lambda request: ApprovalAnswer(allowed=False, by="ada", reason="no"))
        result = await place.run(denied())
        assert result.unwrap() == "approval_denied"
        assert place.effects == []
        assert place.outcomes == [ApprovalOutcome.DENIED]
        (decision,) = place.of(DecisionMade)
        assert (decision.decision, decision.reason) == ("deny", "approval_denied")

    async def test_a_call_that_nobody_answers_is_denied(self) -> None:
        """After `limits.approval_ms`, which all calls of an execution share."""
        place = Place()
        result = await place.run(denied() + denied(), limits={"approval_ms": 50})
        assert result.unwrap() == "approval_timeout"
        assert (place.effects, len(place.asked)) == ([], 1)
        assert place.outcomes == [ApprovalOutcome.TIMED_OUT]
        assert [decision.reason for decision in place.of(DecisionMade)] == ["approval_timeout"] * 2

    async def test_the_wall_clock_stands_still_meanwhile(self) -> None:
        """A person may take longer than the code may run."""

        async def slowly(request: ApprovalRequest) -> ApprovalAnswer:
            await anyio.sleep(0.9)
            return allowing()

        place = Place()
        place.approve = slowly  # type: ignore[method-assign]
        result = await place.run(DROP, limits={"wall_ms": 800})
        assert result.unwrap() == "dropped a"

    async def test_what_is_shown_is_shown_whole(self) -> None:
        """The record has the start of a long argument, and the approver sees all of it."""
        place = Place(lambda request: allowing())
        name = "a" * 5000 + "end"
        result = await place.run("await caps.box.drop(name='a' * 5000 + 'end')")
        assert result.unwrap() == f"dropped {name}"
        assert place.asked[0].shown == {"name": name}

    async def test_nobody_is_asked_about_what_cannot_be_shown_whole(self) -> None:
        """It is denied, and the record says why."""
        place = Place(lambda request: allowing())
        result = await place.run(denied("await caps.box.drop(name='a' * 40_000)"))
        assert result.unwrap() == "approval_denied"
        assert (place.asked, place.effects) == ([], [])
        (settled,) = place.of(ApprovalSettled)
        assert (settled.by, settled.outcome) == ("(host)", ApprovalOutcome.DENIED)
        assert "too long" in settled.note

    async def test_a_traced_call_can_be_asked_about(self) -> None:
        """The ids of its span are in the records, and the approver does not get them."""
        place = Place(lambda request: allowing())
        async with Runtime(
            POLICY,
            registry=place.registry(),
            audit=place.audit,
            approver=place.approve,
            tracer_provider=TracerProvider(),
        ) as runtime:
            assert (await runtime.run(DROP)).unwrap() == "dropped a"
        (event,) = place.of(ApprovalRequested)
        assert event.trace_id is not None

    async def test_nobody_is_asked_about_what_is_refused_anyway(self) -> None:
        """Neither about bad arguments nor about what is over a limit."""
        place = Place(lambda request: allowing())
        async with place.runtime() as runtime:
            assert not (await runtime.run("await caps.box.drop(name=5)")).ok
            assert not (await runtime.run(DROP, policy={**POLICY, "limits": {"calls": 0}})).ok
        assert place.asked == []

    async def test_an_approver_that_fails_has_denied(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The operator's log says why."""

        def failing(request: ApprovalRequest) -> ApprovalAnswer:
            raise RuntimeError("no network")

        place = Place(failing)
        assert (await place.run(denied())).unwrap() == "approval_denied"
        assert place.effects == []
        assert "no network" in caplog.text

    async def test_an_answer_of_another_kind_is_a_denial(self) -> None:
        """`True` is not a valid answer."""
        place = Place(lambda request: True)  # type: ignore[arg-type,return-value]
        assert (await place.run(denied())).unwrap() == "approval_denied"

    async def test_what_happened_meanwhile_counts(self) -> None:
        """A rate that was used up while the call waited refuses it, approved or not."""
        place = Place()
        source = f"""
async def safely():
    try:
        {DROP}
    except LimitExceededError:
        return 'over'
import asyncio
await asyncio.gather(safely(), safely())
"""

        async def when_both_wait(request: ApprovalRequest) -> ApprovalAnswer:
            place.asked.append(request)
            if len(place.asked) == 2:
                place.is_asked.set()
            await place.is_asked.wait()
            return allowing()

        place.approve = when_both_wait  # type: ignore[method-assign]
        result = await place.run(source, limits={"rates": {"box.drop": "1/day"}})
        assert sorted(map(str, result.unwrap())) == ["None", "over"]
        assert place.effects == ["a"]

    @pytest.mark.parametrize("refused", [ApprovalRequested, ApprovalSettled])
    async def test_without_evidence_there_is_no_effect(self, refused: type[AuditEvent]) -> None:
        """Nobody is asked unless the request is recorded; an answer counts only if it is."""

        class Failing(MemoryAuditLog):
            async def append(self, event: AuditEvent) -> None:
                if isinstance(event, refused):
                    raise AuditError("the disk is full")
                await super().append(event)

        place = Place(lambda request: allowing(), audit=Failing())
        result = await place.run(DROP)
        assert not result.ok
        assert place.effects == []
        assert bool(place.asked) is (refused is ApprovalSettled)

    async def test_the_metrics_say_how_it_ended(self) -> None:
        """And that nothing waits any more."""
        place = Place(lambda request: allowing())
        await place.run(DROP)
        labels = {"capability": "box.drop", "outcome": "given"}
        assert place.samples.get_sample_value("caps_approvals_total", labels) == 1
        assert place.samples.get_sample_value("caps_approvals_waiting") == 0


@pytest.mark.anyio
class TestCovers:
    async def test_an_approval_covers_this_call_alone(self) -> None:
        """The next one is asked about again."""
        place = Place(lambda request: allowing())
        await place.run(f"{DROP}\n{DROP}")
        assert (len(place.asked), place.effects) == (2, ["a", "a"])

    async def test_an_approval_may_cover_so_many_calls(self) -> None:
        """Counted at the host: the first after them is asked about."""
        place = Place(lambda request: allowing(calls=3))
        await place.run("\n".join([DROP] * 4))
        assert (len(place.asked), len(place.effects)) == (2, 4)
        approvals = [decision.approval for decision in place.of(DecisionMade)]
        assert approvals == [place.asked[0].id] * 3 + [place.asked[1].id]

    async def test_an_approval_may_cover_a_span_of_time(self) -> None:
        """Any number of calls until it is over."""
        place = Place(lambda request: allowing(seconds=3600))
        await place.run("\n".join([DROP] * 5))
        assert (len(place.asked), len(place.effects)) == (1, 5)

    async def test_it_does_not_cover_the_same_policy_elsewhere(self, tmp_path: Path) -> None:
        """Its relative paths lead to other files, for which there was no approval."""
        asked: list[ApprovalRequest] = []

        async def approve(request: ApprovalRequest) -> ApprovalAnswer:
            asked.append(request)
            return allowing(seconds=3600, reach=ApprovalScope.PRINCIPAL)

        policies = []
        for name in ("one", "two"):
            (tmp_path / name / "box").mkdir(parents=True)
            (tmp_path / name / "box" / "a").touch()
            policies.append(tmp_path / name / "p.json")
            scopes = {"files": {"allowlist": ["./box"]}}
            policy = {"allow": ["files.delete"], "approve": ["files.*"], "scopes": scopes}
            policies[-1].write_text(json.dumps(policy))
        async with Runtime(
            registry=builtin_registry(), audit=MemoryAuditLog(), approver=approve
        ) as runtime:
            for policy_file in policies:
                await runtime.run("await caps.files.delete(path='a')", policy=policy_file)
        assert [request.shown["path"] for request in asked] == ["a", "a"]

    async def test_it_covers_no_other_execution(self) -> None:
        """Unless it was given to the principal, and then no other principal."""
        place = Place(lambda request: allowing(seconds=3600))
        async with place.runtime() as runtime:
            await runtime.run(DROP, principal="alice")
            await runtime.run(DROP, principal="alice")
            assert len(place.asked) == 2
            place.answer = lambda request: allowing(seconds=3600, reach=ApprovalScope.PRINCIPAL)
            await runtime.run(DROP, principal="alice")
            await runtime.run(DROP, principal="alice")
            assert len(place.asked) == 3
            await runtime.run(DROP, principal="bob")
            assert len(place.asked) == 4
            other = {**POLICY, "description": "another revision"}
            await runtime.run(DROP, principal="alice", policy=other)
            assert len(place.asked) == 5

    async def test_it_is_forgotten_with_its_execution(self) -> None:
        """A runtime that lives for months holds none that nothing can use any more."""
        place = Place(lambda request: allowing(seconds=3600))
        async with place.runtime() as runtime:
            await runtime.run(DROP)
            assert len(place.asked) == 1
            assert runtime._open().services.approvals._standing == {}

    async def test_it_covers_the_later_runs_of_its_session(self) -> None:
        """And ends with it."""
        place = Place(lambda request: allowing(calls=3))
        async with place.runtime() as runtime:
            async with runtime.session() as session:
                for _ in range(3):
                    (await session.run(DROP)).unwrap()
            assert len(place.asked) == 1
            async with runtime.session() as session:
                await session.run(DROP)
            assert len(place.asked) == 2

    async def test_calls_that_wait_together_share_an_answer(self) -> None:
        """As many of them as it covers continue; the others keep waiting."""
        place = Place()
        source = f"""
import asyncio
async def safely():
    try:
        return {DROP}
    except PolicyDeniedError as error:
        return error.reason
await asyncio.gather(*(safely() for _ in range(4)))
"""

        async def one_of_four(request: ApprovalRequest) -> ApprovalAnswer:
            place.asked.append(request)
            if len(place.asked) < 4:
                await anyio.sleep_forever()
            return allowing(calls=3)

        place.approve = one_of_four  # type: ignore[method-assign]
        result = await place.run(source, limits={"approval_ms": 700})
        assert sorted(result.unwrap()) == ["approval_timeout"] + ["dropped a"] * 3
        assert sorted(outcome.value for outcome in place.outcomes) == [
            "given",
            "timed_out",
            "withdrawn",
            "withdrawn",
        ]

    async def test_a_repeat_under_its_key_asks_nobody(self) -> None:
        """At the same time or later, it gets the answer of the first."""
        place = Place(lambda request: allowing())
        call = "caps.box.drop.options(idempotency_key='k')(name='a')"
        source = f"import asyncio\na = await asyncio.gather({call}, {call})\n[*a, await {call}]"
        assert (await place.run(source)).unwrap() == ["dropped a"] * 3
        assert (len(place.asked), place.effects) == (1, ["a"])

    @pytest.mark.parametrize("allowed", [True, False])
    async def test_a_repeat_of_a_call_that_waits_is_decided_with_it(self, allowed: bool) -> None:
        """No record says that it was allowed before the first was, and each names the approval."""
        place = Place(lambda request: ApprovalAnswer(allowed=allowed, by="ada"))
        call = "caps.box.drop.options(idempotency_key='k')(name='a')"
        source = (
            f"import asyncio\na = await asyncio.gather({call}, {call}, return_exceptions=True)\n"
            "[getattr(each, 'reason', each) for each in a]"
        )
        expected = "dropped a" if allowed else "approval_denied"
        assert (await place.run(source)).unwrap() == [expected] * 2
        assert len(place.asked) == 1
        found = [(each.decision, each.approval) for each in place.of(DecisionMade)]
        verdict = ("allow", place.asked[0].id) if allowed else ("deny", None)
        assert found == [verdict] * 2
        kinds = [type(event).__name__ for event in place.audit.events]
        assert kinds.index("ApprovalSettled") < kinds.index("DecisionMade")

    async def test_a_key_whose_call_was_denied_is_free_again(self) -> None:
        """Nothing was done under it."""
        place = Place(lambda request: ApprovalAnswer(allowed=len(place.asked) > 1, by="ada"))
        call = "await caps.box.drop.options(idempotency_key='k')(name='a')"
        result = await place.run(f"{denied(call)}\n{call}")
        assert (result.unwrap(), len(place.asked)) == ("dropped a", 2)


@pytest.mark.anyio
class TestEnds:
    async def test_an_execution_that_is_cancelled_withdraws_what_waits(
        self, tmp_path: Path
    ) -> None:
        """No request is left in the directory, and the log says that it was withdrawn."""
        place = Place()
        posted = anyio.Event()
        approver = DirectoryApprover(tmp_path / "approvals", announce=lambda _: posted.set())
        place.approve = approver  # type: ignore[method-assign]
        async with place.runtime() as runtime, anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.run, DROP)
            await posted.wait()
            with ApprovalDirectory.open(tmp_path / "approvals") as store:
                assert len(store.pending()) == 1
            tasks.cancel_scope.cancel()
        assert list((tmp_path / "approvals").iterdir()) == []
        assert place.outcomes == [ApprovalOutcome.WITHDRAWN]
        assert place.effects == []

    async def test_a_limit_ends_it_as_well(self) -> None:
        """The CPU limit keeps counting while a call waits."""
        place = Place()
        source = "import asyncio\nt = asyncio.create_task(caps.box.drop(name='a'))\n" + (
            "await caps.box.asked()\nwhile True: pass"
        )
        result = await place.run(source, limits={"cpu_ms": 300})
        assert result.error is not None
        assert result.error.code == "limit_exceeded"
        assert place.outcomes == [ApprovalOutcome.WITHDRAWN]

    async def test_a_directory_that_is_of_no_use_denies(self, tmp_path: Path) -> None:
        """It cannot be used to ask anybody."""
        (tmp_path / "file").write_text("x")
        registry = Place().registry()
        async with Runtime(
            POLICY, registry=registry, audit=MemoryAuditLog(), approver=tmp_path / "file"
        ) as runtime:
            assert (await runtime.run(denied())).unwrap() == "approval_denied"

    async def test_a_call_that_waits_is_refused_when_it_is_revoked(self) -> None:
        """Immediately, not when somebody answers."""
        place = Place()
        async with place.runtime() as runtime, anyio.create_task_group() as tasks:
            results: list[ExecutionResult] = []

            async def run() -> None:
                results.append(await runtime.run(denied()))

            tasks.start_soon(run)
            await place.is_asked.wait()
            taken = await runtime.revoke(place.asked[0].execution_id, "box.drop")
        assert taken == ("box.drop",)
        assert results[0].unwrap() == "revoked"
        assert place.outcomes == [ApprovalOutcome.WITHDRAWN]
        assert [decision.reason for decision in place.of(DecisionMade)] == ["revoked"]


class Files:
    """Where `caps run`, in a separate process, may delete a file if somebody approves."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.box = directory / "box"
        self.box.mkdir()
        (self.box / "a.txt").write_text("a")
        (self.box / "b.txt").write_text("b")
        policy = {
            "id": "deleter",
            "allow": ["files.delete"],
            "approve": ["files.*"],
            "scopes": {"files": {"allowlist": ["./box"]}},
            "limits": {"approval_ms": 60_000},
        }
        (directory / "policy.json").write_text(json.dumps(policy))
        self.environment = {
            **os.environ,
            "CAPS_POLICY_PATH": str(directory / "policy.json"),
            "CAPS_AUDIT_PATH": str(directory / "audit"),
            "CAPS_APPROVALS_PATH": str(directory / "approvals"),
        }

    def running(self, source: str) -> subprocess.Popen[str]:
        (self.directory / "task.py").write_text(source)
        return subprocess.Popen(
            [SCRIPT, "run", str(self.directory / "task.py"), "--principal", "alice"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def caps(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPT, "approvals", *args],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def announced(run: subprocess.Popen[str]) -> str:
    """The id that `caps run` says it waits for."""
    assert run.stderr is not None
    line = run.stderr.readline()
    assert line.startswith("caps: files.delete(path='")
    return line.split("allow|deny ")[1].rstrip("`\n")


class TestCommand:
    def test_another_process_allows(self, files: Files) -> None:
        """List, show, allow; then the run ends well and its log is sound."""
        with files.running("await caps.files.delete(path='a.txt')\n'done'") as run:
            short = announced(run)
            (listed,) = json.loads(files.caps("list", "--json").stdout)
            assert listed["id"].startswith(short)
            assert (listed["principal"], listed["capability"]) == ("alice", "files.delete")
            assert listed["shown"] == {"path": "a.txt"}
            assert "files.delete(path='a.txt')" in files.caps("list").stdout
            assert "path" in files.caps("show", short).stdout
            answered = files.caps("allow", short, "--by", "ada", "--reason", "old")
            assert answered.stdout == "allowed: files.delete of `alice`\n"
            stdout, _ = run.communicate(timeout=60)
        assert (run.returncode, stdout) == (0, "=> 'done'\n")
        assert not (files.box / "a.txt").exists()
        audit = files.directory / "audit"
        assert verify_log(audit).status is VerifyStatus.OK
        (settled,) = [
            record.event
            for record in read_records(audit)
            if isinstance(record.event, ApprovalSettled)
        ]
        assert (settled.by, settled.note, settled.outcome.value) == ("ada", "old", "given")
        assert files.caps("list").stdout == "nothing waits for an approval\n"

    def test_a_list_cuts_nothing_off(self, files: Files) -> None:
        """Where a path ends is what an approval is about, however narrow the terminal is."""
        path = "tmp/build-cache/old-artifacts/" * 8 + "../../customers"
        with files.running(f"await caps.files.delete(path={path!r})") as run:
            short = announced(run)
            assert f"files.delete(path={path!r}" in files.caps("list").stdout
            assert files.caps("deny", short).returncode == 0
            run.communicate(timeout=60)

    def test_another_process_allows_several_calls(self, files: Files) -> None:
        """One answer for both."""
        source = "for n in 'ab': await caps.files.delete(path=n + '.txt')"
        with files.running(source) as run:
            assert files.caps("allow", announced(run), "--calls", "2", "--for", "10m").stdout
            run.communicate(timeout=60)
        assert run.returncode == 0
        assert list(files.box.iterdir()) == []

    def test_another_process_denies(self, files: Files) -> None:
        """The run ends with the exit code of a refusal."""
        with files.running("await caps.files.delete(path='a.txt')") as run:
            assert files.caps("deny", announced(run), "--reason", "mine").returncode == 0
            _, stderr = run.communicate(timeout=60)
        assert run.returncode == 3
        assert "its approval was denied" in stderr
        assert (files.box / "a.txt").exists()

    def test_a_killed_run_waits_for_nobody(self, files: Files) -> None:
        """What it left is neither listed nor answered."""
        with files.running("await caps.files.delete(path='a.txt')") as run:
            short = announced(run)
            run.kill()
            run.communicate(timeout=60)
        assert json.loads(files.caps("list", "--json").stdout) == []
        done = files.caps("allow", short)
        assert (done.returncode, "no call waits" in done.stderr) == (2, True)
        assert (files.box / "a.txt").exists()

    def test_an_interrupted_run_leaves_nothing(self, files: Files) -> None:
        """SIGTERM ends it in good order."""
        with files.running("await caps.files.delete(path='a.txt')") as run:
            announced(run)
            run.terminate()
            run.communicate(timeout=60)
        assert run.returncode == 143
        assert list((files.directory / "approvals").iterdir()) == []

    @pytest.mark.parametrize(
        ("args", "code", "says"),
        [
            (("allow", "abc", "--calls", "0"), 2, "`calls` should be from 1 to 1000000"),
            (("allow", "abc", "--for", "soon"), 2, "`soon` is not a span of time"),
            (("allow", "abc", "--principal"), 2, "needs a span of time"),
            (("deny", "abc", "--by", "x" * 200), 2, "`by` should have"),
            (("allow", "abc"), 2, "no call waits for an approval `abc`; none was ever"),
            (("show", "abc"), 2, "no call waits for an approval `abc`; none was ever"),
        ],
    )
    def test_bad_usage_is_one_line(
        self, files: Files, args: tuple[str, ...], code: int, says: str
    ) -> None:
        """And nothing is answered."""
        done = files.caps(*args)
        assert done.returncode == code
        assert says in done.stderr
        assert len(done.stderr.splitlines()) == 1

    def test_a_list_of_nothing(self, files: Files) -> None:
        """Without any request there is not even a directory."""
        assert files.caps("list", "--json").stdout == "[]\n"
        assert files.caps("list").stdout == "nothing waits for an approval\n"


def test_the_builtin_registry_shows_what_a_person_must_see() -> None:
    """A path is what an approval of `files.delete` is about."""
    specs = {spec.name: spec for spec in builtin_registry()}
    assert "path" in specs["files.delete"].shown
