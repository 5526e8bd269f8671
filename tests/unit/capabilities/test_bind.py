"""Setting a policy against a registry: every name exists, every scope parses, every test passes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from caps.capabilities.chain import chain_of
from caps.capabilities.grant import BoundPolicy, Grant
from caps.capabilities.provider import CallContext, Scope
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.spec import CapabilitySpec
from caps.protocol.errors import PolicyInvalidError
from caps.security.decision import decide
from caps.security.policies.protected_paths import ProtectedPath
from caps.security.policy import Rate
from caps.security.reasons import ReasonCode
from caps.security.request import NOTHING_USED, Request
from caps.security.scopes import Violation
from support.parameter_names import stable_repr


class FilesScope(Scope):
    """A scope with a path, which is anchored, and a bound."""

    roots: list[str]
    max_bytes: int = 10

    def violation(self, function: str, payload: Any) -> Violation | None:
        allowed = any(payload["path"].startswith(root) for root in self.roots)
        return None if allowed else Violation("roots", "the path is elsewhere")

    def anchored(self, base: Path) -> Self:
        return self.model_copy(update={"roots": [str(base / root) for root in self.roots]})


def provider(context: CallContext, payload: Any) -> None: ...


@pytest.fixture
def registry() -> CapabilityRegistry:
    """`files.read` and `files.write`, which have a scope, and `time.now`, which has none."""
    made = CapabilityRegistry()
    made.domain("files", scope=FilesScope)
    path = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    made.register(
        CapabilitySpec(name="files.read", title="Read", description="Reads.", schema_in=path),
        provider,
    )
    made.register(CapabilitySpec(name="files.write", schema_in=path), provider)
    made.register(CapabilitySpec(name="time.now"), provider)
    return made


def refusal(registry: CapabilityRegistry, **policy: Any) -> PolicyInvalidError:
    """The error that binding `policy` raises."""
    with pytest.raises(PolicyInvalidError) as caught:
        registry.bind(policy)
    return caught.value


def standing(bound: BoundPolicy) -> dict[str, ReasonCode | None]:
    """Why each capability is withheld; None if it is granted."""
    return {name: terms.withheld for name, terms in bound.terms.items()}


SCOPES = {"files": {"roots": ["/data"]}}


def test_every_registered_capability_has_terms(registry: CapabilityRegistry) -> None:
    """Granted or withheld, each with its rule and its reason."""
    bound = registry.bind(
        {
            "allow": ["files.*", "time.now"],
            "deny": ["files.write"],
            "approve": ["time.*"],
            "scopes": SCOPES,
        }
    )
    assert standing(bound) == {
        "files.read": None,
        "files.write": ReasonCode.DENIED_BY_RULE,
        "time.now": None,
    }
    assert {name: terms.rule for name, terms in bound.terms.items()} == {
        "files.read": "files.*",
        "files.write": "files.write",
        "time.now": "time.now",
    }
    assert (bound.terms["files.read"].approve, bound.terms["time.now"].approve) == (None, "time.*")
    assert bound.granted == ("files.read", "time.now")
    assert list(bound.reasons) == ["files.write"]


def test_the_empty_policy_grants_nothing(registry: CapabilityRegistry) -> None:
    """Deny by default."""
    bound = registry.bind({})
    assert set(standing(bound).values()) == {ReasonCode.NOT_ALLOWED}
    assert (bound.granted, bound.manifest) == ((), ())


def test_a_domain_with_scopes_that_is_given_none_reaches_nothing(
    registry: CapabilityRegistry,
) -> None:
    """It is withheld, and the others are not."""
    bound = registry.bind({"allow": ["files.*", "time.*"]})
    assert standing(bound) == {
        "files.read": ReasonCode.SCOPE_MISSING,
        "files.write": ReasonCode.SCOPE_MISSING,
        "time.now": None,
    }


def test_the_manifest_says_what_user_space_may_know(registry: CapabilityRegistry) -> None:
    """Names, schemas and descriptions of what is granted; nothing of scopes."""
    bound = registry.bind({"allow": ["files.read"], "scopes": {"files": {"roots": ["/secret"]}}})
    (entry,) = bound.manifest
    assert (entry.name, entry.title, entry.description) == ("files.read", "Read", "Reads.")
    assert entry.schema()["required"] == ["path"]
    assert b"secret" not in bytes(bound.manifest_bytes)


def test_terms_cannot_be_changed(registry: CapabilityRegistry) -> None:
    """What was bound stays as it is."""
    bound = registry.bind({})
    with pytest.raises(TypeError):
        bound.terms["files.read"] = bound.terms["time.now"]  # type: ignore[index]


def test_a_registration_after_binding_changes_no_grant(registry: CapabilityRegistry) -> None:
    """A rule for a domain covers what it covered when the policy was bound."""
    bound = registry.bind({"allow": ["time.*"]})
    registry.register(CapabilitySpec(name="time.travel"), provider)
    assert bound.granted == ("time.now",)


@pytest.mark.parametrize("key", ["allow", "deny", "approve"])
@pytest.mark.parametrize(
    ("rule", "meant"),
    [("files.raed", "files.read"), ("file.*", "files.*"), ("time.no", "time.now")],
)
def test_a_rule_for_what_does_not_exist_is_an_error(
    registry: CapabilityRegistry, key: str, rule: str, meant: str
) -> None:
    """A misspelt deny would deny nothing, so it says which one was meant."""
    error = refusal(registry, **{key: [rule]})
    assert f"no capability `{rule}` is registered; did you mean `{meant}`?" in error.message
    assert (error.source, error.place) == ("dict", key)


def test_a_rule_like_nothing_has_no_hint(registry: CapabilityRegistry) -> None:
    """No guess is better than a wild one."""
    error = refusal(registry, allow=["quantum.entangle"])
    assert error.message == (
        "policy `dict`: no capability `quantum.entangle` is registered at allow"
    )


def test_a_rate_for_what_does_not_exist_is_an_error(registry: CapabilityRegistry) -> None:
    """It would limit nothing."""
    error = refusal(registry, limits={"rates": {"files.reed": "1/s"}})
    assert error.place == "limits.rates.files.reed"
    assert "did you mean `files.read`?" in error.message


def test_a_rate_reaches_the_terms(registry: CapabilityRegistry) -> None:
    """The exact one before the one of the domain."""
    bound = registry.bind({"limits": {"rates": {"files.*": "1/s", "files.read": "60/min"}}})
    rates = {name: terms.rate for name, terms in bound.terms.items()}
    assert rates == {
        "files.read": Rate(60, 60),
        "files.write": Rate(1, 1),
        "time.now": None,
    }


def test_a_scope_for_a_domain_that_does_not_exist_is_an_error(
    registry: CapabilityRegistry,
) -> None:
    """With the nearest one that does."""
    error = refusal(registry, scopes={"flies": {}})
    assert error.message == (
        "policy `dict`: no domain `flies` is registered; did you mean `files`? at scopes.flies"
    )


def test_a_scope_for_a_domain_that_takes_none_is_an_error(registry: CapabilityRegistry) -> None:
    """It would restrict nothing."""
    error = refusal(registry, allow=["time.now"], scopes={"time": {"zone": "UTC"}})
    assert error.message == "policy `dict`: domain `time` takes no scope at scopes.time"


@pytest.mark.parametrize(
    ("scope", "place", "message"),
    [
        ({"roots": ["/d"], "max_byte": 5}, "scopes.files.max_byte", "did you mean `max_bytes`?"),
        (
            {"roots": ["/d"], "max_bytes": "5"},
            "scopes.files.max_bytes",
            "should be an integer, got string",
        ),
        ({"rots": ["/d"]}, "scopes.files.rots", "did you mean `roots`?"),
        ({}, "scopes.files.roots", "missing key"),
        ({"roots": [1]}, "scopes.files.roots.0", "should be a string, got number"),
        ({"paths": ["/d"]}, "scopes.files.paths", "unknown key; it takes `roots`, `max_bytes`"),
    ],
)
def test_a_scope_that_does_not_parse_is_an_error(
    registry: CapabilityRegistry, scope: dict[str, Any], place: str, message: str
) -> None:
    """A misspelt key is never a wider grant, and values are not converted."""
    error = refusal(registry, scopes={"files": scope})
    assert error.place == place
    assert message in error.message
    assert "\n" not in error.message


def test_a_scope_is_anchored_at_the_policy_file(
    registry: CapabilityRegistry, tmp_path: Path
) -> None:
    """Relative paths start at the directory of the file, wherever the host runs."""
    file = tmp_path / "policy.json"
    file.write_text('{"allow": ["files.read"], "scopes": {"files": {"roots": ["sandbox"]}}}')
    scope = registry.bind(file).terms["files.read"].scope
    assert isinstance(scope, FilesScope)
    assert scope.roots == [str(tmp_path / "sandbox")]


def test_the_tests_of_a_policy_run_against_the_real_decision(registry: CapabilityRegistry) -> None:
    """Rules, schemas and scopes, all of it."""
    tests = [
        {"call": "files.read", "payload": {"path": "/data/a"}, "expect": "allow"},
        {"call": "files.read", "payload": {"path": "/etc/passwd"}, "expect": "deny"},
        {"call": "files.read", "payload": {}, "expect": "deny"},
        {"call": "files.write", "payload": {"path": "/data/a"}, "expect": "deny"},
        {"call": "no.such", "expect": "deny"},
    ]
    bound = registry.bind({"allow": ["files.read"], "scopes": SCOPES, "tests": tests})
    assert len(bound.policy.tests) == 5


@pytest.mark.parametrize(
    ("path", "expect", "message"),
    [
        ("/etc/passwd", "allow", "was expected to allow and gave deny (scope_violation: "),
        ("/data/a", "deny", "was expected to deny and gave allow (allowed: allowed)"),
    ],
)
def test_a_policy_whose_test_fails_is_refused(
    registry: CapabilityRegistry, path: str, expect: str, message: str
) -> None:
    """The message says which test, and what was decided instead."""
    passing = {"call": "time.now", "expect": "deny"}
    failing = {"call": "files.read", "payload": {"path": path}, "expect": expect}
    error = refusal(registry, allow=["files.read"], scopes=SCOPES, tests=[passing, failing])
    assert error.place == "tests[1]"
    assert f"`files.read` {message}" in error.message


def test_a_schema_with_numbers_that_no_message_carries_can_be_granted() -> None:
    """The worker gets them rounded; what the broker checks stays exact."""
    registry = CapabilityRegistry()
    size = {"type": "integer", "maximum": 2**70, "minimum": -(10**400)}
    schema = {"type": "object", "properties": {"size": size}}

    async def grow(context: CallContext, payload: Mapping[str, Any]) -> None: ...

    registry.register(CapabilitySpec(name="box.grow", schema_in=schema), grow)
    (entry,) = registry.bind({"allow": ["box.grow"]}).manifest
    told = entry.schema()["properties"]["size"]
    assert (told["maximum"], told["minimum"]) == (2.0**70, -math.inf)
    assert schema["properties"]["size"]["maximum"] == 2**70  # type: ignore[index]


class LooseScope(Scope):
    """A scope whose methods return what the test sets."""

    answers: ClassVar[dict[str, Any]] = {}

    def violation(self, function: str, payload: Any) -> Any:
        return self.answers.get("violation")

    def anchored(self, base: Path) -> Any:
        return self.answers.get("anchored", self)

    def writable_directories(self, functions: Any) -> Any:
        return self.answers.get("writable", ())


def loose(**answers: Any) -> BoundPolicy:
    """A policy whose scope answers like this, bound and checked."""
    registry = CapabilityRegistry()
    registry.domain("files", scope=type("Given", (LooseScope,), {"answers": answers}))
    registry.register(CapabilitySpec(name="files.write"), provider)
    guarded = (ProtectedPath("the log", Path("/var/log")),)
    return registry.bind({"allow": ["files.*"], "scopes": {"files": {}}}, guarded=guarded)


@pytest.mark.parametrize(
    "answer", [False, True, "", "no", 0, [], {}, ["rule"], object()], ids=stable_repr
)
def test_a_scope_allows_by_none_alone(answer: object) -> None:
    """Another value than None and a `Violation` is a refusal."""
    grant = Grant(execution_id="e", namespace="caps", chain=chain_of(loose(violation=answer)))
    decision = decide(grant, Request("files.write", {}), NOTHING_USED)
    assert (decision.allowed, decision.reason) == (False, ReasonCode.INTERNAL_ERROR)


@pytest.mark.parametrize(
    "answer", [None, False, "no", {}, FilesScope(roots=["/"])], ids=stable_repr
)
def test_an_anchored_scope_is_of_the_same_model(answer: object) -> None:
    """Anything else is refused before it decides."""
    with pytest.raises(PolicyInvalidError, match=r"`anchored` must return a `Given`, not `\w+`"):
        loose(anchored=answer)


@pytest.mark.parametrize(
    "answer", [None, "log", b"log", ("/var/log",), [1], {Path("/")}], ids=stable_repr
)
def test_writable_directories_are_paths(answer: object) -> None:
    """A string would be read as the names of its characters, and reach nothing."""
    with pytest.raises(PolicyInvalidError, match="must return a tuple of `Path`s"):
        loose(writable=answer)


def test_a_scope_model_that_fails_is_one_line() -> None:
    """The error names the place in the policy, and not the text of a foreign error."""

    class Broken(LooseScope):
        def anchored(self, base: Path) -> Any:
            raise ZeroDivisionError("some\nlines")

    registry = CapabilityRegistry()
    registry.domain("files", scope=Broken)
    with pytest.raises(PolicyInvalidError) as caught:
        registry.bind({"scopes": {"files": {}}})
    assert caught.value.message == (
        "policy `dict`: the scope model failed with `ZeroDivisionError` at scopes.files"
    )
