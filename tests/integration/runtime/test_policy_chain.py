"""A grant that rests on several policies, with real workers: each must allow."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from caps import (
    ApprovalAnswer,
    ApprovalRequest,
    CapabilityRegistry,
    ConfigurationError,
    ExecutionResult,
    MemoryAuditLog,
    PolicyInvalidError,
    Runtime,
    builtin_registry,
)
from caps.security.approvals.model import ApprovalScope
from caps.security.audit import (
    ApprovalRequested,
    AuditEvent,
    DecisionMade,
    ExecutionStarted,
    OutcomeRecorded,
    PolicyLoaded,
)

pytestmark = pytest.mark.anyio

CEILING: dict[str, Any] = {"id": "ceiling", "allow": ["math.*"], "limits": {"calls": 3}}
OWN: dict[str, Any] = {"id": "own", "allow": ["math.add", "time.now"]}
ADD = "(await caps.math.add(a=1, b=2)).result"
SEEN = "[hasattr(caps.math, name) for name in ('add', 'multiply')] + [hasattr(caps, 'time')]"


@pytest.fixture
def audit() -> MemoryAuditLog:
    return MemoryAuditLog()


def opened(audit: MemoryAuditLog, *policies: Any, **more: Any) -> Runtime:
    given: Any = list(policies) if policies else None
    return Runtime(given, registry=builtin_registry(), audit=audit, **more)


def events(audit: MemoryAuditLog, kind: type[Any]) -> list[Any]:
    return [event for event in audit.events if isinstance(event, kind)]


class TestAListOfPolicies:
    async def test_grants_what_each_grants(self, audit: MemoryAuditLog) -> None:
        """What one withholds has no wrapper, and the start is recorded under all of them."""
        async with opened(audit, CEILING, OWN) as runtime:
            assert (await runtime.run(SEEN)).unwrap() == [True, False, False]
            assert (await runtime.run(ADD)).unwrap() == 3
            policies = runtime.policies
            assert runtime.policy is policies[-1]
        started = events(audit, ExecutionStarted)[0]
        assert started.policy_id == "own"
        assert [each.id for each in started.policies] == ["ceiling", "own"]
        assert [each.sha256 for each in started.policies] == [p.policy_sha256 for p in policies]
        by = {each.capability: each.policy_id for each in started.withheld}
        assert (by["time.now"], by["math.multiply"]) == ("ceiling", "own")
        assert [event.policy_id for event in events(audit, PolicyLoaded)] == ["ceiling", "own"]

    async def test_the_lowest_limit_ends_it_and_its_policy_is_named(
        self, audit: MemoryAuditLog
    ) -> None:
        """The fourth call is over the ceiling."""
        source = f"""
for _ in range(3):
    {ADD}
try:
    {ADD}
except LimitExceededError as error:
    found = (error.policy_id, error.allowed)
found
"""
        async with opened(audit, CEILING, {**OWN, "limits": {"calls": 9}}) as runtime:
            found = (await runtime.run(source)).unwrap()
        assert found == ("ceiling", 3)

    async def test_an_empty_list_does_not_open(self, audit: MemoryAuditLog) -> None:
        """It is an error and not a runtime that grants nothing."""
        with pytest.raises(PolicyInvalidError, match="empty"):
            async with Runtime([], registry=builtin_registry(), audit=audit):
                raise AssertionError("it was opened")

    async def test_one_bad_policy_does_not_open_and_is_recorded(
        self, audit: MemoryAuditLog
    ) -> None:
        """By its own name."""
        bad = {"id": "bad", "allow": ["math.ad"]}
        with pytest.raises(PolicyInvalidError, match="no capability"):
            async with opened(audit, CEILING, bad):
                raise AssertionError("it was opened")
        (loaded,) = events(audit, PolicyLoaded)
        assert (loaded.policy_id, loaded.status) == ("bad", "refused")

    async def test_the_tests_of_each_policy_hold_for_it_alone(self, audit: MemoryAuditLog) -> None:
        """A ceiling may promise what the policy beneath it takes away."""
        test = {"call": "math.multiply", "payload": {"a": 1, "b": 2}, "expect": "allow"}
        async with opened(audit, {**CEILING, "tests": [test]}, OWN) as runtime:
            assert (await runtime.run(SEEN)).unwrap()[1] is False
        with pytest.raises(PolicyInvalidError, match="tests"):
            async with opened(audit, CEILING, {**OWN, "tests": [test]}):
                raise AssertionError("it was opened")

    async def test_a_record_of_one_policy_says_nothing_of_chains(
        self, audit: MemoryAuditLog
    ) -> None:
        """It is the same as it always was."""
        async with opened(audit, OWN) as runtime:
            await runtime.run(ADD)
        started = events(audit, ExecutionStarted)[0]
        assert started.policies == []
        assert {each.policy_id for each in started.withheld} == {None}


class TestAPolicyOfOneRun:
    async def test_is_put_beneath_the_policies_of_the_runtime(self, audit: MemoryAuditLog) -> None:
        """It takes away, and adds nothing."""
        wide = {"id": "wide", "allow": ["math.*", "time.*"]}
        async with opened(audit, CEILING) as runtime:
            assert (await runtime.run(SEEN, policy=wide)).unwrap() == [True, True, False]
            assert (await runtime.run(SEEN, policy=OWN)).unwrap() == [True, False, False]
            both = [wide, OWN]
            assert (await runtime.run(SEEN, policy=both)).unwrap() == [True, False, False]
            bound = await runtime.bind(wide)
            assert (await runtime.run(SEEN, policy=bound)).unwrap() == [True, True, False]
        listed = [[each.id for each in e.policies] for e in events(audit, ExecutionStarted)]
        assert listed[2] == ["ceiling", "wide", "own"]

    async def test_is_used_instead_of_them_only_if_the_caller_says_so(
        self, audit: MemoryAuditLog
    ) -> None:
        """Then nothing of the runtime's own is left."""
        async with opened(audit, CEILING) as runtime:
            result = await runtime.run(SEEN, policy=OWN, replace=True)
            assert result.unwrap() == [True, False, True]
            with pytest.raises(ConfigurationError, match="replace"):
                await runtime.run(SEEN, replace=True)
            with pytest.raises(PolicyInvalidError, match="empty"):
                await runtime.run(SEEN, policy=[])
            with pytest.raises(ConfigurationError, match="replace"):
                await runtime.run(SEEN, policy=OWN, replace="yes")  # type: ignore[arg-type]

    async def test_stands_alone_in_a_runtime_that_has_none(
        self, audit: MemoryAuditLog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """No policy is no ceiling; the empty policy is one, and so is that of the environment."""
        monkeypatch.delenv("CAPS_POLICY_PATH", raising=False)
        async with opened(audit) as runtime:
            assert (await runtime.run("hasattr(caps, 'math')")).unwrap() is False
            assert (await runtime.run(ADD, policy=OWN)).unwrap() == 3
        async with opened(audit, {}) as runtime:
            assert not (await runtime.run(ADD, policy=OWN)).ok
        file = tmp_path / "p.json"
        file.write_text(json.dumps({"id": "time-only", "allow": ["time.*"]}))
        monkeypatch.setenv("CAPS_POLICY_PATH", str(file))
        async with opened(audit) as runtime:
            assert not (await runtime.run(ADD, policy=OWN)).ok

    async def test_holds_for_a_stream_and_a_session(self, audit: MemoryAuditLog) -> None:
        """From the first cell to the last."""
        async with opened(audit, CEILING) as runtime:
            async for event in runtime.stream(SEEN, policy=OWN):
                last = event
            result: ExecutionResult = last.result  # type: ignore[union-attr]
            assert result.unwrap() == [True, False, False]
            async with runtime.session(policy=OWN) as session:
                assert (await session.run(SEEN)).unwrap() == [True, False, False]
                assert (await session.run(ADD)).unwrap() == 3
            async with runtime.session(policy=OWN, replace=True) as session:
                assert (await session.run(SEEN)).unwrap() == [True, False, True]

    async def test_gets_the_modules_that_all_grant(self, audit: MemoryAuditLog) -> None:
        """No worker with more is started, so a module that is missing does not matter."""
        wanted = {"id": "wanted", "modules": ["idna", "not_installed_anywhere"]}
        source = "import idna\nidna.encode('a.example')"
        async with opened(audit, {"id": "c", "modules": ["idna"]}) as runtime:
            assert (await runtime.run(source, policy=wanted)).unwrap() == b"a.example"
            assert not (await runtime.run(source, policy={"id": "none"})).ok


def test_the_synchronous_calls_take_the_same_arguments(audit: MemoryAuditLog) -> None:
    """`run_sync`, `submit` and `session_sync`."""
    with opened(audit, CEILING) as runtime:
        assert runtime.run_sync(SEEN, policy=OWN).unwrap() == [True, False, False]
        submitted = runtime.submit(SEEN, policy=OWN, replace=True)
        assert submitted.result().unwrap() == [True, False, True]
        with runtime.session_sync(policy=[OWN]) as session:
            assert session.run(SEEN).unwrap() == [True, False, False]


class TestFiles:
    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        own = tmp_path / "shared" / "own"
        own.mkdir(parents=True)
        (tmp_path / "secret").write_text("secret")
        (tmp_path / "shared" / "outer").write_text("outer")
        (own / "notes").write_text("mine")
        (own / "up").symlink_to("../outer")
        return tmp_path

    def policy(self, name: str, folder: Path, **scope: Any) -> dict[str, Any]:
        scopes = {"files": {"allowlist": [str(folder)], **scope}}
        return {"id": name, "allow": ["files.*"], "scopes": scopes}

    async def test_every_scope_is_asked_and_the_one_that_refuses_is_named(
        self, audit: MemoryAuditLog, tree: Path
    ) -> None:
        """Before the call by the rules, during the call by the kernel."""
        ceiling = self.policy("ceiling", tree / "shared", read_only=True)
        own = self.policy("own", tree / "shared" / "own")
        source = """
found = []
for path in paths:
    try:
        found.append((await caps.files.read(path=path)).content)
    except PolicyDeniedError as error:
        found.append((error.policy_id, error.reason))
try:
    await caps.files.write(path='new', content='x')
except PolicyDeniedError as error:
    found.append((error.policy_id, error.reason))
found
"""
        paths = ["notes", f"{tree}/shared/outer", "up", f"{tree}/secret"]
        async with opened(audit, ceiling, own) as runtime:
            result = await runtime.run(f"paths = {paths!r}\n{source}")
        assert result.unwrap() == [
            "mine",
            ("own", "scope_violation"),
            ("own", "scope_violation"),
            ("ceiling", "scope_violation"),
            ("ceiling", "scope_violation"),
        ]
        named = [(e.decision, e.policy_id) for e in events(audit, DecisionMade)]
        assert named == [
            ("allow", "own"),
            ("deny", "own"),
            ("allow", "own"),
            ("deny", "ceiling"),
            ("deny", "ceiling"),
        ]
        denied = [e for e in events(audit, OutcomeRecorded) if e.status.value == "denied"]
        assert [e.reason for e in denied] == ["scope_violation"]


class TestApprovals:
    async def test_one_that_wants_an_approval_gets_it_asked_by_name(
        self, audit: MemoryAuditLog
    ) -> None:
        """A standing approval holds for the same policies, not for one of them with others."""
        asked: list[ApprovalRequest] = []

        async def approve(request: ApprovalRequest) -> ApprovalAnswer:
            asked.append(request)
            reach = ApprovalScope.PRINCIPAL
            return ApprovalAnswer(allowed=True, by="ada", seconds=3600, reach=reach)

        ceiling = {**CEILING, "approve": ["math.*"]}
        async with opened(audit, ceiling, approver=approve) as runtime:
            for _ in range(2):
                assert (await runtime.run(ADD, policy=OWN)).unwrap() == 3
            assert len(asked) == 1
            assert (await runtime.run(ADD)).unwrap() == 3
            assert len(asked) == 2
        assert (asked[0].rule, asked[0].policy_id) == ("math.*", "ceiling")
        requested = events(audit, ApprovalRequested)[0]
        assert (requested.rule, requested.policy_id) == ("math.*", "ceiling")
        assert [e.policy_id for e in events(audit, DecisionMade)] == ["own", "own", "ceiling"]


class TestRates:
    async def test_each_policy_counts_by_itself(self, audit: MemoryAuditLog) -> None:
        """What ran under the ceiling alone counts there, and not beneath it."""
        ceiling = {**CEILING, "limits": {"rates": {"math.*": "3/day"}}}
        own = {**OWN, "limits": {"rates": {"math.add": "2/day"}}}
        async with opened(audit, ceiling) as runtime:
            reasons = []
            for policy in (None, own, own, None):
                result = await runtime.run(ADD, policy=policy)
                reasons.append(result.decisions[0].reason)
        assert reasons == ["allowed", "allowed", "allowed", "rate_exceeded"]
        assert events(audit, DecisionMade)[-1].policy_id == "ceiling"

    async def test_policies_with_one_id_count_a_call_once(self, audit: MemoryAuditLog) -> None:
        """They share a window, as revisions of a policy do."""
        policies = [
            {"allow": ["math.*"], "limits": {"rates": {"math.*": rate}}}
            for rate in ("2/day", "3/hour")
        ]
        async with opened(audit, *policies) as runtime:
            oks = [(await runtime.run(ADD)).ok for _ in range(3)]
        assert oks == [True, True, False]


@dataclass
class Told(MemoryAuditLog):
    """A log that says when a policy was recorded."""

    loaded: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        super().__init__()

    async def append(self, event: AuditEvent) -> None:
        await super().append(event)
        if isinstance(event, PolicyLoaded):
            self.loaded.set()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    ceiling, own = tmp_path / "ceiling.json", tmp_path / "own.json"
    ceiling.write_text(json.dumps(CEILING))
    own.write_text(json.dumps({**OWN, "allow": ["math.*"]}))
    return ceiling, own


class TestWatching:
    async def test_each_file_is_reloaded_on_its_own(self, files: tuple[Path, Path]) -> None:
        """A bad one leaves its last good revision in force, and the other as it is."""
        audit = Told()
        ceiling, own = files
        async with opened(audit, *files, watch=True) as runtime:
            before = runtime.policies
            audit.loaded = anyio.Event()
            own.write_text(json.dumps({"id": "own", "allow": ["math.multiply"]}))
            with anyio.fail_after(20):
                await audit.loaded.wait()
            assert (await runtime.run(SEEN)).unwrap() == [False, True, False]
            assert runtime.policies[0] is before[0]
            audit.loaded = anyio.Event()
            ceiling.write_text('{"allow": ["nonsense"]}')
            with anyio.fail_after(20):
                await audit.loaded.wait()
            assert runtime.policies[0] is before[0]
            assert (await runtime.run(SEEN)).unwrap() == [False, True, False]
        statuses = [(e.policy_id, e.status) for e in events(audit, PolicyLoaded)[2:]]
        assert statuses == [("own", "accepted"), ("(unread)", "refused")]

    async def test_needs_one_that_comes_from_a_file(
        self, audit: MemoryAuditLog, files: tuple[Path, Path]
    ) -> None:
        """The others cannot change."""
        with pytest.raises(ConfigurationError, match="watch"):
            async with opened(audit, CEILING, OWN, watch=True):
                raise AssertionError("it was opened")
        async with opened(audit, CEILING, files[1], watch=True) as runtime:
            assert (await runtime.run(ADD)).unwrap() == 3

    async def test_the_files_of_all_policies_are_protected_from_all(
        self, audit: MemoryAuditLog, files: tuple[Path, Path]
    ) -> None:
        """Code that could change one of them could do anything."""
        scopes = {"files": {"allowlist": [str(files[0].parent)]}}
        writer = {"id": "writer", "allow": ["files.*"], "scopes": scopes}
        with pytest.raises(PolicyInvalidError, match="policy"):
            async with opened(audit, files[0], writer):
                raise AssertionError("it was opened")


async def test_what_is_revoked_is_gone_under_every_policy(audit: MemoryAuditLog) -> None:
    """It is the grant that loses it."""
    registry = CapabilityRegistry()
    called, go_on = anyio.Event(), anyio.Event()

    @registry.capability("box.wait")
    async def wait() -> None:
        called.set()
        await go_on.wait()

    @registry.capability("box.put")
    async def put() -> str:
        return "put"

    source = "await caps.box.wait()\nawait caps.box.put()"
    results: list[ExecutionResult] = []
    policies = [{"id": "a", "allow": ["box.*"]}, {"id": "b", "allow": ["box.*"]}]
    async with Runtime(policies, registry=registry, audit=audit) as runtime:

        async def run() -> None:
            results.append(await runtime.run(source, session="s1"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await called.wait()
            assert await runtime.revoke("s1", "box.put") == ("box.put",)
            go_on.set()
    assert results[0].decisions[-1].reason == "revoked"


async def test_an_answer_is_not_replayed_under_other_policies(
    tmp_path: Path, audit: MemoryAuditLog
) -> None:
    """It was not held to their scopes: the same path is another file there, or leads outside."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    (tmp_path / "a" / "link").symlink_to("../b/file")

    def beneath(directory: Path) -> dict[str, Any]:
        scopes = {"files": {"allowlist": [str(directory)]}}
        return {"id": directory.name, "allow": ["files.read"], "scopes": scopes}

    link, key = {"path": str(tmp_path / "a" / "link")}, "k"
    async with opened(audit, {**beneath(tmp_path), "id": "ceiling"}) as runtime:
        read = functools.partial(runtime.call, "files.read", idempotency_key=key)
        first = await read({"path": "file"}, policy=beneath(tmp_path / "a"))
        other = await read({"path": "file"}, policy=beneath(tmp_path / "b"))
        again = await read({"path": "file"}, policy=beneath(tmp_path / "a"))
        followed = await read(link, session="s")
        narrower = await read(link, session="s", policy=beneath(tmp_path / "a"))
    assert first.unwrap() == again.unwrap()
    assert followed.ok
    for refused in (other, narrower):
        assert refused.error is not None
        assert "under other policies" in refused.error.message
