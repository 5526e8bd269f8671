"""Session files by their three ways: code in the sandbox, a single call, and two at once.

The two databases behave the same; each test has a store of its own.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from sqlalchemy import Connection

from caps import CallResult, ExecutionResult, MemoryAuditLog, Runtime, builtin_registry
from caps.capabilities.provider import CallContext
from caps.security.audit import DecisionMade, OutcomeRecorded
from caps.store import open_store
from caps.store.repositories.session_files import SessionFiles
from caps.store.repositories.sessions import Sessions

pytestmark = pytest.mark.anyio

POLICY: dict[str, Any] = {
    "id": "filer",
    "allow": ["session_files.*"],
    "scopes": {"session_files": {"max_file_bytes": 1000, "max_total_bytes": 2000, "max_files": 20}},
}


class Host:
    """A runtime with a store of its own."""

    def __init__(self, runtime: Runtime, audit: MemoryAuditLog, url: str) -> None:
        self.runtime, self.audit, self.url = runtime, audit, url

    async def run(self, code: str, session: str | None = "s", **options: Any) -> ExecutionResult:
        return await self.runtime.run(code, session=session, principal="ann", **options)

    async def value(self, code: str, **options: Any) -> Any:
        result = await self.run(code, **options)
        assert result.error is None, result.error
        return result.value

    async def call(
        self, function: str, session: str | None = "s", principal: str = "ann", **payload: Any
    ) -> CallResult:
        return await self.runtime.call(
            f"session_files.{function}", payload, session=session, principal=principal
        )

    async def answer(self, function: str, **payload: Any) -> Any:
        return (await self.call(function, **payload)).unwrap()

    async def message(self, function: str, **payload: Any) -> str:
        result = await self.call(function, **payload)
        assert result.error is not None
        return f"{result.error.type}: {result.error.message}"


@pytest.fixture
async def host(store_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Host]:
    monkeypatch.setenv("CAPS_DATABASE_URL", store_url)
    audit = MemoryAuditLog()
    async with Runtime(POLICY, registry=builtin_registry(plugins="off"), audit=audit) as runtime:
        yield Host(runtime, audit, store_url)


SIX = """
out = []
w = await caps.session_files.write(path="/docs/a/note.txt", content="one\\ntwo é")
out.append([w.path, w.size_bytes, w.created])
r = await caps.session_files.read(path="/docs/a/note.txt")
out.append([r.path, r.content, r.encoding, r.size_bytes, r.version == w.version])
l = await caps.session_files.list()
out.append([l.path, [[e.name, e.is_directory] for e in l.entries], l.count])
g = await caps.session_files.grep(pattern="tw.", path_pattern="*.txt")
out.append([g.pattern, [[m.path, m.line_number, m.line] for m in g.matches], g.match_count])
s = await caps.session_files.stat(path="/docs/a/note.txt")
out.append([s.path, s.name, s.exists, s.is_directory, s.is_readonly, s.size_bytes,
            s.created_at[:2], s.modified_at >= s.created_at])
d = await caps.session_files.delete(path="/docs", recursive=True)
out.append([d.path, d.deleted])
out
"""


@pytest.mark.spec(
    "004-files-read-returns",
    "004-files-write-returns",
    "004-files-list-returns",
    "004-files-grep-returns",
    "004-files-delete-returns",
    "004-files-stat-returns",
    "004-files-read-auto",
    "004-files-write-auto",
    "004-files-list-auto",
    "004-files-grep-auto",
    "004-files-delete-auto",
    "004-files-stat-auto",
    "004-files-parents",
    "004-files-parents-why",
)
async def test_the_six_functions_in_the_sandbox(host: Host) -> None:
    """Every parameter and field of the specification, and parents that are made."""
    assert await host.value(SIX) == [
        ["/docs/a/note.txt", 10, True],
        ["/docs/a/note.txt", "one\ntwo é", "text", 10, True],
        ["/", [["docs", True]], 1],
        ["tw.", [["/docs/a/note.txt", 2, "two é"]], 1],
        ["/docs/a/note.txt", "note.txt", True, False, False, 10, "20", True],
        ["/docs", True],
    ]


async def test_a_single_call_leaves_the_same_evidence_as_code(host: Host) -> None:
    """Same decision, same shown fields, same status; only the way differs."""
    await host.value("await caps.session_files.write(path='/a', content='x'); None")
    await host.answer("write", path="/b", content="x")
    records = host.audit.events
    decisions = [each for each in records if isinstance(each, DecisionMade)]
    outcomes = [each for each in records if isinstance(each, OutcomeRecorded)]
    assert [each.capability for each in decisions] == ["session_files.write"] * 2
    assert [(each.principal, each.session) for each in decisions] == [("ann", "s")] * 2
    assert [each.shown["path"] for each in decisions] == ["/a", "/b"]
    assert [set(each.hidden) for each in decisions] == [{"content"}] * 2
    assert [each.status.value for each in outcomes] == ["ok", "ok"]


class TestReading:
    async def test_a_fresh_session_is_empty(self, host: Host) -> None:
        """Nothing was ever stored for it, and reading stores nothing."""
        assert await host.answer("list") == {
            "path": "/",
            "entries": [],
            "count": 0,
            "truncated": False,
        }
        assert (await host.answer("grep", pattern="a"))["match_count"] == 0
        found = await host.answer("stat", path="/a")
        assert (found["exists"], found["version"], found["created_at"]) == (False, 0, None)
        root = await host.answer("stat", path="/")
        assert (root["name"], root["exists"], root["is_directory"]) == ("/", True, True)
        assert await host.message("read", path="/a") == "ProviderError: `/a` does not exist"
        async with open_store(host.url) as store:
            assert await store.read(lambda found: Sessions(found).find("ann", "s")) is None

    async def test_bytes_are_base64(self, host: Host) -> None:
        """Written and read; what is UTF-8 is read as text."""
        for data, encoding in ((b"\xff\0", "base64"), ("é".encode(), "text"), (b"", "text")):
            coded = base64.b64encode(data).decode()
            path = f"/{len(data)}-{encoding}"
            await host.answer("write", path=path, content=coded, encoding="base64")
            found = await host.answer("read", path=path)
            assert (found["encoding"], found["size_bytes"]) == (encoding, len(data))
            text = found["content"]
            assert (base64.b64decode(text) if encoding == "base64" else text.encode()) == data

    @pytest.mark.parametrize(
        ("function", "payload", "message"),
        [
            ("read", {"path": "/d"}, "`/d` is a directory; name a file in it"),
            ("read", {"path": "/"}, "`/` is a directory"),
            ("read", {"path": "d"}, "`d` is not absolute; start it with `/`"),
            ("read", {"path": "/../etc/passwd"}, "has `..`"),
            ("read", {"path": "/a\0"}, "has a control character"),
            ("list", {"path": "/d/f"}, "is a file; list the directory"),
            ("list", {"path": "/none"}, "`/none` does not exist"),
            ("list", {"after": "\0"}, "`after` has a NUL character"),
            ("grep", {"pattern": "("}, "`pattern` is not valid"),
            ("write", {"path": "/d", "content": ""}, "`/d` is a directory"),
            ("write", {"path": "/d/f/g", "content": ""}, "`/d/f` is a file"),
            ("write", {"path": "/x", "content": "!", "encoding": "base64"}, "well-formed base64"),
            ("delete", {"path": "/d"}, "is not empty; pass `recursive=True`"),
            ("delete", {"path": "/"}, "the root cannot be deleted"),
        ],
    )
    async def test_what_cannot_be_done_is_said(
        self, host: Host, function: str, payload: dict[str, Any], message: str
    ) -> None:
        """In one line, as a ProviderError."""
        await host.answer("write", path="/d/f", content="x")
        found = await host.message(function, **payload)
        assert found.startswith("ProviderError: ")
        assert message in found

    async def test_a_listing_has_pages(self, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
        """By name, after the last one."""
        monkeypatch.setattr("caps.providers.session_files.read.MAX_ENTRIES", 2)
        for name in "abcde":
            await host.answer("write", path=f"/{name}", content="")
        after, found = "", []
        while True:
            page = await host.answer("list", after=after)
            found += [entry["name"] for entry in page["entries"]]
            if not page["truncated"]:
                break
            after = found[-1]
        assert found == list("abcde")


class TestOwners:
    @pytest.mark.spec("004-files-isolated", "004-files-session-scoped", "004-files-separation")
    async def test_nothing_crosses_sessions_or_principals(self, host: Host) -> None:
        """The tree belongs to both together, whichever way it is asked."""
        await host.answer("write", path="/a", content="mine")
        for other in ({"session": "t"}, {"principal": "bob"}, {"session": "S"}):
            assert (await host.call("list", **other)).unwrap()["count"] == 0
            assert not (await host.call("stat", path="/a", **other)).unwrap()["exists"]
            assert not (await host.call("delete", path="/a", **other)).unwrap()["deleted"]
            assert (await host.call("grep", pattern=".", **other)).unwrap()["match_count"] == 0
        assert (await host.answer("read", path="/a"))["content"] == "mine"

    @pytest.mark.spec(
        "004-files-context",
        "004-files-context-required",
        "004-files-context-fields",
        "004-files-context-session",
        "004-files-context-store",
    )
    async def test_without_a_session_there_are_no_files(self, host: Host) -> None:
        """The refusal says what to do; nothing is stored."""
        for result in (
            await host.call("write", session=None, path="/a", content="x"),
            await host.run("await caps.session_files.write('/a', 'x')", session=None),
        ):
            assert result.error is not None
            assert "pass `session=...` to the runtime, or `--session NAME`" in result.error.message

    async def test_a_session_of_a_runtime_keeps_its_files_between_runs(self, host: Host) -> None:
        """Also one without a name, as long as it is open."""
        async with host.runtime.session(principal="ann") as session:
            await session.run("await caps.session_files.write('/a', 'x')")
            found = await session.run("(await caps.session_files.read('/a')).content")
        assert found.value == "x"

    async def test_files_outlive_the_runtime(self, host: Host) -> None:
        """Another runtime with the same store finds them."""
        await host.answer("write", path="/a", content="x")
        async with Runtime(
            POLICY, registry=builtin_registry(plugins="off"), audit=MemoryAuditLog()
        ) as other:
            payload = {"path": "/a"}
            found = await other.call("session_files.read", payload, session="s", principal="ann")
        assert found.unwrap()["content"] == "x"

    async def test_a_name_that_cannot_be_stored_is_refused(self, host: Host) -> None:
        """Neither database could keep it."""
        result = await host.call("write", session="s" * 2000, path="/a", content="x")
        assert result.error is not None
        assert "the name of the session cannot be stored" in result.error.message


class TestVersions:
    async def test_a_program_may_replace_what_it_wrote_or_read(self, host: Host) -> None:
        """It knows the version; nobody else wrote in between."""
        await host.answer("write", path="/a", content="1")
        code = """
text = (await caps.session_files.read("/a")).content
first = await caps.session_files.write("/a", text + "2")
second = await caps.session_files.write("/a", text + "3")
[first.created, second.created, second.version > first.version]
"""
        assert await host.value(code) == [False, False, True]
        assert (await host.answer("read", path="/a"))["content"] == "13"

    async def test_a_file_that_was_not_read_is_not_replaced(self, host: Host) -> None:
        """Whoever writes learns the version, and can say that it knows it."""
        written = await host.answer("write", path="/a", content="1")
        result = await host.call("write", path="/a", content="2")
        assert result.error is not None
        assert result.error.details == {"refusal": "conflict"}
        assert f"pass `if_version={written['version']}` to replace it" in result.error.message
        again = await host.answer("write", path="/a", content="2", if_version=written["version"])
        assert not again["created"]
        assert again["version"] > written["version"]
        stale = await host.message("write", path="/a", content="3", if_version=written["version"])
        assert "it was changed since; read it again" in stale
        assert "exists already" in await host.message("write", path="/a", content="3", if_version=0)

    async def test_two_programs_that_read_the_same_lose_nothing(self, host: Host) -> None:
        """The second to write is told, also without `if_version`."""
        await host.answer("write", path="/a", content="0")
        read, written = anyio.Event(), anyio.Event()
        registry = host.runtime.registry

        @registry.capability("meeting.wait")
        async def wait(context: CallContext) -> None:
            read.set()
            await written.wait()

        code = """
text = (await caps.session_files.read("/a")).content
{wait}
try:
    await caps.session_files.write("/a", text + "{name}")
    out = "written"
except caps.ProviderError as error:
    out = error.refusal
out
"""
        policy = {**POLICY, "allow": ["session_files.*", "meeting.wait"]}
        slow: list[Any] = []

        async def run_slow() -> None:
            source = code.format(wait="await caps.meeting.wait()", name="slow")
            slow.append(await host.value(source, policy=policy, replace=True))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_slow)
            await read.wait()
            assert await host.value(code.format(wait="", name="fast")) == "written"
            written.set()
        assert slow == ["conflict"]
        assert (await host.answer("read", path="/a"))["content"] == "0fast"

    async def test_concurrent_creations_of_one_file(self, host: Host) -> None:
        """One is created, the others are told."""
        results: list[CallResult] = []

        async def create(name: str) -> None:
            results.append(await host.call("write", path="/a", content=name))

        async with anyio.create_task_group() as tasks:
            for name in "abcdefgh":
                tasks.start_soon(create, name)
        assert sorted(result.ok for result in results) == [False] * 7 + [True]
        assert {r.error.details["refusal"] for r in results if r.error} == {"conflict"}

    async def test_a_delete_of_a_changed_file_is_refused(self, host: Host) -> None:
        """If the caller knows a version, by either way."""
        first = await host.answer("write", path="/a", content="1")
        await host.answer("write", path="/a", content="2", if_version=first["version"])
        message = await host.message("delete", path="/a", if_version=first["version"])
        assert "it was changed since" in message
        assert (await host.answer("delete", path="/a"))["deleted"]
        assert not (await host.answer("delete", path="/a"))["deleted"]


class TestLimits:
    async def test_quotas_are_denials_of_the_scope(self, host: Host) -> None:
        """They name the key, in the answer and on record."""
        for path in ("/a", "/b"):
            await host.answer("write", path=path, content="x" * 900)
        full = await host.message("write", path="/c", content="x" * 900)
        assert full.startswith("PolicyDeniedError")
        assert "may have 2000 bytes together; delete some" in full
        large = await host.message("write", path="/c", content="x" * 1001)
        assert "larger than the 1000 bytes allowed" in large
        deep = await host.message("write", path="/" + "d/" * 16 + "e", content="")
        assert "is deeper than the 16 names allowed" in deep
        await host.answer("write", path="/1/2/3/4/5/6/7/8/9/10", content="")
        many = await host.message("write", path="/x/2/3/4/5/6/7/8/9/10", content="")
        assert "may have 20 files and directories; delete some" in many
        events = host.audit.events
        details = [each.detail for each in events if isinstance(each, OutcomeRecorded)]
        assert "outside `scopes.session_files.max_total_bytes`" in details
        assert "outside `scopes.session_files.max_files`" in details

    async def test_under_several_policies_the_lowest_counts(self, host: Host) -> None:
        """And the refusal names the policy that it belongs to."""
        lower = {
            "id": "lower",
            "allow": ["session_files.*"],
            "scopes": {"session_files": {"max_total_bytes": 10}},
        }
        payload = {"path": "/a", "content": "x" * 11}
        result = await host.runtime.call(
            "session_files.write", payload, session="s", principal="ann", policy=lower
        )
        assert result.error is not None
        assert "is not granted by policy `lower`" in result.error.message
        await host.answer("write", path="/a", content="x" * 11)
        small = {**lower, "scopes": {"session_files": {"max_file_bytes": 10}}}
        result = await host.runtime.call(
            "session_files.read", {"path": "/a"}, session="s", principal="ann", policy=small
        )
        assert result.error is not None
        assert "larger than the 10 bytes allowed" in result.error.message

    async def test_a_file_that_the_host_protects_is_read_only(self, host: Host) -> None:
        """The host does it through the repository."""
        await host.answer("write", path="/in/a", content="x")

        def protect(connection: Connection) -> bool:
            session = Sessions(connection).change("ann", "s")
            return SessionFiles(connection, session).set_readonly("/in", True)

        async with open_store(host.url) as store:
            assert await store.write(protect)
        found = await host.answer("stat", path="/in/a")
        assert found["is_readonly"]
        for function, payload in (
            ("write", {"path": "/in/a", "content": "y", "if_version": found["version"]}),
            ("delete", {"path": "/in", "recursive": True}),
        ):
            assert "is read-only and cannot be changed" in await host.message(function, **payload)


class TestLabels:
    async def test_what_a_labelled_program_stores_labels_who_reads_it(self, host: Host) -> None:
        """Content, names, sizes and searches; also after the runtime has forgotten the session."""
        registry = host.runtime.registry

        @registry.capability("hr.salary", labels=("private",))
        async def salary() -> int:
            return 90

        @registry.capability("mail.send", egress=True)
        async def send(text: str) -> None: ...

        policy = {
            **POLICY,
            "id": "closed",
            "allow": ["session_files.*", "hr.*", "mail.*"],
            "flows": [{"id": "closed", "after": ["private"], "deny": ["egress"]}],
        }
        await host.answer("write", path="/open", content="menu")
        await host.value(
            "await caps.session_files.write('/d/f', str(await caps.hr.salary())); None",
            policy=policy,
            replace=True,
        )
        told = {
            "read('/d/f')": True,
            "stat('/d/f')": True,
            "stat('/d')": True,
            "list('/')": True,
            "grep('nothing')": True,
            "delete('/d/f', if_version=99)": True,
            "write('/d/f', 'x')": True,
            "read('/open')": False,
            "stat('/none')": False,
            "grep('menu', path_pattern='/open')": False,
        }
        # Each in a runtime of its own: what the session was answered before is not known there.
        for call, is_private in told.items():
            code = f"""
try:
    await caps.session_files.{call}
except caps.ProviderError:
    pass
try:
    await caps.mail.send("x")
    out = "sent"
except caps.PolicyDeniedError as error:
    out = error.reason
out
"""
            async with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as other:
                result = await other.run(code, session="s", principal="ann")
            assert result.value == ("flow_denied" if is_private else "sent"), call
