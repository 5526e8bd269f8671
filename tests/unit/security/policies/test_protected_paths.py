"""What no scope may let code change: the policy's file, the approvals, the log, the store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from caps import MemoryAuditLog, PolicyInvalidError, Runtime, builtin_registry
from caps.capabilities.bind import check_protected_paths
from caps.capabilities.runtime.opening.protected_paths import (
    default_protected_paths,
    protected_paths_of,
)
from caps.security.approvals.approver import DirectoryApprover
from caps.security.audit import AuditLog
from caps.security.audit.sinks.urls import parse_sink
from caps.security.policies.load import load_policy
from caps.security.policies.protected_paths import ProtectedPath, first_reached
from caps.security.request import Request
from caps.security.review.explain import explain
from caps.security.review.learn import learn
from caps.security.review.lint import lint
from support.policy_strategies import Call, loaded, records_of

REGISTRY = builtin_registry()


def written(directory: Path, *, allow: Sequence[str] = ("files.*",), **scope: Any) -> Path:
    """A policy file in `directory` with this `files` scope."""
    file = directory / "policy.json"
    document = {"id": "p", "allow": list(allow), "scopes": {"files": scope}}
    file.write_text(json.dumps(document))
    return file


def reaches(directory: Path, path: Path) -> bool:
    return first_reached([directory], [ProtectedPath("it", path)]) is not None


def test_a_directory_reaches_what_it_holds_and_what_holds_it(tmp_path: Path) -> None:
    """In both directions; what only shares a part of its name or its parent is not reached."""
    kept = tmp_path / "state" / "audit"
    assert reaches(tmp_path, kept)
    assert reaches(kept, kept)
    assert reaches(kept / "inside", kept)
    assert not reaches(tmp_path / "state" / "audit-not", kept)
    assert not reaches(tmp_path / "sandbox", kept)


def test_links_are_followed_on_both_sides(tmp_path: Path) -> None:
    """A scope that is a link, a guarded path that is one, and the links on the way to it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    (tmp_path / "real" / "policy.json").touch()
    (tmp_path / "scope").symlink_to("real")
    (tmp_path / "links" / "data").symlink_to("../real")
    named = tmp_path / "links" / "data" / "policy.json"
    assert reaches(tmp_path / "scope", tmp_path / "real" / "policy.json")
    assert reaches(tmp_path / "real", named)
    assert reaches(tmp_path / "links", named), "to replace the link is to replace the file"
    assert not reaches(tmp_path / "other", named)


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    """It leads nowhere, and the links in it are kept anyway."""
    (tmp_path / "loop").symlink_to("loop")
    assert reaches(tmp_path, tmp_path / "loop" / "x")
    assert not reaches(tmp_path / "elsewhere", tmp_path / "loop" / "x")


@pytest.mark.parametrize("entry", [".", "..", "./box/..", "/"])
def test_a_policy_that_could_rewrite_itself_is_refused(tmp_path: Path, entry: str) -> None:
    """The message says which scope, which directory, and what to do."""
    file = written(tmp_path, allowlist=["./box", entry])
    with pytest.raises(PolicyInvalidError) as refused:
        REGISTRY.bind(file)
    assert f"holds the policy file `{file}`" in refused.value.message
    assert "at scopes.files" in refused.value.message
    assert "name a directory apart from it" in refused.value.message


@pytest.mark.parametrize(
    ("allow", "scope"),
    [
        (["files.*"], {"allowlist": ["."], "read_only": True}),
        (["files.read", "files.list"], {"allowlist": ["."]}),
        (["files.*"], {"allowlist": ["./box"]}),
    ],
)
def test_reading_it_or_writing_elsewhere_is_no_reason(
    tmp_path: Path, allow: list[str], scope: dict[str, Any]
) -> None:
    """Only what can be changed is refused."""
    assert REGISTRY.bind(written(tmp_path, allow=allow, **scope)).granted


@pytest.mark.anyio
async def test_what_a_runtime_rests_on_is_what_it_uses(tmp_path: Path) -> None:
    """Policy, approvals, log, the copies of its checkpoints, what sinks keep, and the store."""
    log = AuditLog.open(
        tmp_path / "log",
        checkpoints_to=tmp_path / "kept",
        sinks=[parse_sink(f"file://{tmp_path}/copy")],
    )
    try:
        found = protected_paths_of(
            log, DirectoryApprover(tmp_path / "asked"), [tmp_path / "p.json"]
        )
    finally:
        await log.aclose()
    names = {each.path.name: each.what for each in found}
    assert set(names) == {
        "p.json",
        "asked",
        "log",
        "kept",
        "copy",
        "caps.db",
        "store.key",
        "service.key",
    }
    assert names["caps.db"] == names["store.key"] == "the store"
    assert names["asked"] == "the approvals directory"
    assert names["log"] == names["kept"] == names["copy"] == "the audit directory"


@pytest.mark.anyio
@pytest.mark.parametrize("what", ["policy", "approvals", "audit"])
async def test_a_runtime_does_not_open_with_a_scope_that_reaches_it(
    tmp_path: Path, what: str
) -> None:
    """No worker is started; the refusal is on record, and names the place."""
    places = {name: tmp_path / name for name in ("policy", "approvals", "audit")}
    places["policy"].mkdir()
    file = written(places["policy"], allowlist=[str(places[what])])
    runtime = Runtime(
        file,
        registry=REGISTRY,
        audit=places["audit"],
        approver=DirectoryApprover(places["approvals"]),
    )
    with pytest.raises(PolicyInvalidError, match=f"the {what}"):
        await runtime.__aenter__()


@pytest.mark.process
@pytest.mark.anyio
async def test_policies_of_single_runs_are_held_to_it_too(tmp_path: Path) -> None:
    """As a path, as a dictionary, and bound before by somebody else."""
    asked = tmp_path / "asked"
    reaching = {"allow": ["files.*"], "scopes": {"files": {"allowlist": [str(tmp_path)]}}}
    bound = REGISTRY.bind(reaching)
    log = MemoryAuditLog()
    async with Runtime(
        {}, registry=REGISTRY, audit=log, approver=DirectoryApprover(asked)
    ) as runtime:
        for policy in (reaching, bound):
            with pytest.raises(PolicyInvalidError, match="the approvals directory"):
                await runtime.run("1", policy=policy)
        apart = await runtime.bind(
            {"allow": ["files.*"], "scopes": {"files": {"allowlist": [str(tmp_path / "box")]}}}
        )
        assert await runtime.bind(apart) is apart


def test_lint_names_it_and_warns_of_reading(tmp_path: Path) -> None:
    """An error where code could change it, a warning where it could read it."""
    writing = load_policy(written(tmp_path, allowlist=["."]))
    codes = {one.code: one.severity.value for one in lint(REGISTRY, writing)}
    assert codes["reaches-policy"] == "error"
    assert "reads-policy" not in codes
    reading = load_policy(written(tmp_path, allowlist=["."], read_only=True))
    codes = {one.code: one.severity.value for one in lint(REGISTRY, reading)}
    assert codes["reads-policy"] == "warning"
    assert "reaches-policy" not in codes
    apart = load_policy(written(tmp_path, allowlist=["./box"]))
    guarded = [ProtectedPath("the audit directory", tmp_path / "box" / "log")]
    found = [one for one in lint(REGISTRY, apart, protected=guarded) if "policy" in one.code]
    assert [one.code for one in found] == ["reaches-policy"]
    assert "the audit directory" in found[0].message


def test_the_environment_says_what_the_commands_guard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`validate` and `lint` judge for the runtime that would be opened here."""
    monkeypatch.setenv("CAPS_AUDIT_PATH", str(tmp_path / "log"))
    monkeypatch.setenv("CAPS_APPROVALS_PATH", str(tmp_path / "asked"))
    monkeypatch.setenv("CAPS_AUDIT_CHECKPOINTS_TO", str(tmp_path / "kept"))
    always = {"log", "asked", "kept", "service.key"}
    assert {each.path.name for each in default_protected_paths()} == {
        *always,
        "caps.db",
        "store.key",
    }
    monkeypatch.setenv("CAPS_STORE_KEY_FILE", str(tmp_path / "own.key"))
    for url, more in (
        (f"sqlite:///{tmp_path}/own.db", {"own.db", "own.key"}),
        ("postgresql://ann@host/caps", {"own.key"}),
    ):
        monkeypatch.setenv("CAPS_DATABASE_URL", url)
        assert {each.path.name for each in default_protected_paths()} == {*always, *more}


def test_explain_never_proposes_the_directory_of_the_policy_for_writing() -> None:
    """Relative paths get their own directory."""
    payload = {"path": "notes.txt", "content": "x"}
    found = explain(REGISTRY, loaded({"allow": ["files.*"]}), Request("files.write", payload))
    assert found.policy is not None
    assert found.policy.scopes["files"]["allowlist"] == ["./sandbox"]


def test_explain_says_if_a_change_would_reach_the_policy(tmp_path: Path) -> None:
    """To lift `read_only` from the policy's own directory is possible and never taken."""
    policy = load_policy(written(tmp_path, allowlist=["."], read_only=True))
    payload = {"path": "notes.txt", "content": "x"}
    found = explain(REGISTRY, policy, Request("files.write", payload))
    assert "holds the policy file" in found.changes[0].opens
    assert "no runtime takes such a policy" in found.changes[0].opens


def test_learning_keeps_what_is_changed_apart_from_the_policy(tmp_path: Path) -> None:
    """A separate directory for relative paths, and a note if the paths leave no choice."""
    wide = loaded({"allow": ["files.*"], "scopes": {"files": {"allowlist": ["/"]}}})
    relative = [Call("files.write", {"path": "a.txt", "content": "x"})]
    found = learn(REGISTRY, records_of(wide, relative), directory=tmp_path)
    assert found.policy["scopes"]["files"]["allowlist"] == ["./sandbox"]
    assert not [note for note in found.notes if "no runtime takes" in note]
    beside = os.fspath(tmp_path / "a.txt")
    absolute = [Call("files.write", {"path": beside, "content": "x"})]
    found = learn(REGISTRY, records_of(wide, absolute), directory=tmp_path)
    assert [note for note in found.notes if "no runtime takes `scopes.files`" in note]


@pytest.mark.process
@pytest.mark.parametrize(
    ("bound", "at", "scope"),
    [("audit", "sand/logs", "sand"), ("", "sand/all", "sand"), ("audit", "alias", "alias/old")],
)
def test_a_mount_is_followed(tmp_path: Path, bound: str, at: str, scope: str) -> None:
    """Of the guarded place or of what holds it, beneath the scope; or one that the scope is in."""
    source, point = tmp_path / "there" / bound, tmp_path / at
    (tmp_path / "there" / "audit" / "old").mkdir(parents=True)
    point.mkdir(parents=True)
    look = (
        "import sys; from pathlib import Path\n"
        "from caps.security.policies.protected_paths import ProtectedPath, first_reached\n"
        "scope, kept = Path(sys.argv[1]), ProtectedPath('the audit log', Path(sys.argv[2]))\n"
        "print(first_reached([scope], [kept]) is not None)\n"
    )
    command = 'mount --bind "$1" "$2" && exec "$0" -c "$3" "$4" "$5"'
    paths = (str(source), str(point), look, str(tmp_path / scope), str(tmp_path / "there/audit"))
    found = subprocess.run(
        ["unshare", "-rm", "sh", "-c", command, sys.executable, *paths],
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode and found.stderr.startswith(("mount", "unshare")):
        pytest.skip(f"nothing can be mounted here: {found.stderr.strip()}")
    assert found.stdout == "True\n", found.stderr


class TestLongPaths:
    """A path that the kernel does not take is refused, and costs nothing."""

    @pytest.mark.parametrize("entry", ["/" + "a/" * 400_000, "a" * 900_000, "/é" * 1400])
    def test_an_entry_of_the_allowlist_is_bounded(self, entry: str, tmp_path: Path) -> None:
        """In bytes, and also where it is long only after it was anchored."""
        file = written(tmp_path, allowlist=[entry])
        with pytest.raises(PolicyInvalidError, match="is longer than 4095 bytes"):
            REGISTRY.bind(load_policy(file))
        codes = [found.code for found in lint(REGISTRY, load_policy(file))]
        assert "bad-scope" in codes

    def test_many_deep_directories_are_compared(self, tmp_path: Path) -> None:
        """As deep and as many as a scope may have; nothing on the way exists."""
        deep = [f"/nowhere{index}" + "/a" * 2000 for index in range(256)]
        file = written(tmp_path, allowlist=deep)
        assert REGISTRY.bind(load_policy(file)).granted
        file = written(tmp_path, allowlist=[*deep[1:], str(tmp_path)])
        with pytest.raises(PolicyInvalidError, match="holds the policy file"):
            REGISTRY.bind(load_policy(file))

    @pytest.mark.parametrize("name", ["a/" * 60_000, "\ud800", "a\0b"], ids=["long", "half", "nul"])
    def test_a_protected_path_that_cannot_exist_is_compared_by_name(self, name: str) -> None:
        """It needs no lookup."""
        assert reaches(Path("/nowhere"), Path("/nowhere", name))
        assert not reaches(Path("/elsewhere"), Path("/nowhere", name))

    def test_explain_proposes_no_directory_for_a_path_that_cannot_exist(self) -> None:
        """The call cannot be allowed."""
        policy = loaded({"allow": ["files.read"], "scopes": {"files": {"allowlist": ["/b"]}}})
        path = "/" + "a/" * 50_000
        assert explain(REGISTRY, policy, Request("files.read", {"path": path})).changes == ()


def test_the_configuration_file_is_protected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code that could write it would choose the policy."""
    file = tmp_path / "caps.toml"
    file.write_text("isolation = 'full'")
    monkeypatch.setenv("CAPS_CONFIG", str(file))
    assert file in {each.path for each in default_protected_paths()}


@pytest.mark.parametrize("read_only", [True, False])
def test_a_key_is_not_even_read(tmp_path: Path, read_only: bool) -> None:
    """Whoever reads the key of tokens signs in as anybody; one that does not exist is no secret."""
    box = tmp_path / "box"
    box.mkdir()
    key = ProtectedPath("the key of tokens", box / "service.key", is_secret=True)
    policy = written(tmp_path, allowlist=["./box"], read_only=read_only)
    bound = REGISTRY.bind(load_policy(policy))
    if read_only:
        check_protected_paths(bound, [key])
    key.path.write_text("secret")
    how = "read" if read_only else "change"
    with pytest.raises(
        PolicyInvalidError, match=f"code may {how} files where .* the key of tokens"
    ):
        check_protected_paths(bound, [key])
