"""The policies of a grant together: what is left of each capability, limit and module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from caps import CapabilityRegistry
from caps.capabilities.chain import MAX_POLICIES, chain_of, lowest_limits
from caps.capabilities.provider import CallContext, ProviderError, Scope, Violation
from caps.protocol.errors import PolicyInvalidError
from caps.providers.builtin import builtin_registry
from caps.providers.files.scope import FilesScope
from caps.security.audit.model.records import Withheld
from caps.security.decision import decide
from caps.security.policy import Limits
from caps.security.reasons import ReasonCode
from caps.security.request import NOTHING_USED, Request
from caps.security.scopes import AllScopes
from support.file_calls import context_of

REGISTRY = builtin_registry()
CEILING: dict[str, Any] = {
    "id": "ceiling",
    "allow": ["files.*", "time.*"],
    "scopes": {"files": {"allowlist": ["/srv"]}},
}
OWN: dict[str, Any] = {
    "id": "own",
    "allow": ["files.read", "files.write", "math.*"],
    "scopes": {"files": {"allowlist": ["/srv/own"]}},
}


def test_an_empty_list_is_refused() -> None:
    """It is not the same as no policy: somebody meant to give one."""
    with pytest.raises(PolicyInvalidError, match="empty"):
        REGISTRY.inject("caps", "e1", [])
    with pytest.raises(PolicyInvalidError, match="empty"):
        chain_of()


def test_a_list_has_a_bound() -> None:
    """Each decision asks all of them."""
    with pytest.raises(PolicyInvalidError, match=f"at most {MAX_POLICIES}"):
        REGISTRY.chain([OWN] * (MAX_POLICIES + 1))


def test_granted_is_what_all_grant() -> None:
    """And the record says for the rest which policy was the first to withhold it."""
    chain = REGISTRY.chain([CEILING, OWN])
    assert chain.granted == ("files.read", "files.write")
    assert tuple(entry.name for entry in chain.manifest) == chain.granted
    withheld = {each.capability: each for each in chain.withheld_records}
    assert withheld["math.add"] == Withheld(
        capability="math.add", reason="not_allowed", policy_id="ceiling"
    )
    assert withheld["time.now"].policy_id == withheld["files.list"].policy_id == "own"
    assert set(withheld) | set(chain.granted) == {spec.name for spec in REGISTRY}


def test_one_policy_is_what_it_was_alone() -> None:
    """Nothing is derived, encoded or recorded anew."""
    bound = REGISTRY.bind(OWN)
    chain = chain_of(bound)
    assert chain.links == (bound,)
    assert chain.terms is bound.terms
    assert chain.manifest_bytes is bound.manifest_bytes
    assert chain.terms_sha256 == bound.terms_sha256
    assert chain.withheld_records is bound.withheld_records
    assert chain.recorded_policies == []


def test_the_same_policies_make_the_same_chain() -> None:
    """It is built once, however many executions begin under it."""
    ceiling, own = REGISTRY.bind(CEILING), REGISTRY.bind(OWN)
    assert chain_of(ceiling, own) is chain_of(ceiling, own)
    assert chain_of(ceiling, own).terms_sha256 != chain_of(own, ceiling).terms_sha256


def test_a_policy_that_is_given_twice_counts_once() -> None:
    """It refuses nothing more the second time; its last place is the one that counts."""
    ceiling, own = REGISTRY.bind(CEILING), REGISTRY.bind(OWN)
    assert chain_of(own, own).policies == (own,)
    assert chain_of(own, ceiling, own).policies == (ceiling, own)


def test_policies_of_different_registries_make_no_chain() -> None:
    """The functions of one would be called under the rules of the other, without its scopes."""
    other = CapabilityRegistry()

    @other.capability("files.read")
    async def read(path: str) -> str:
        return path

    foreign = other.bind({"id": "foreign", "allow": ["files.read"]})
    with pytest.raises(PolicyInvalidError, match="bind both to the same registry"):
        REGISTRY.chain([CEILING, foreign])
    assert REGISTRY.chain([CEILING, REGISTRY.bind(OWN)]).granted


def test_two_policies_may_grant_nothing_together() -> None:
    """That is allowed, as a policy that grants nothing is."""
    chain = REGISTRY.chain([{"allow": ["time.*"]}, {"allow": ["math.*"]}])
    assert chain.granted == ()


def test_modules_are_those_that_all_grant() -> None:
    """In the order of the last one."""
    chain = REGISTRY.chain([{"modules": ["numpy", "idna"]}, {"modules": ["idna", "packaging"]}])
    assert chain.modules == ("idna",)


def test_a_part_of_a_module_is_granted_by_a_policy_that_grants_the_whole() -> None:
    """The smaller grant counts, whichever policy has it."""
    whole, part = {"modules": ["scipy"]}, {"modules": ["scipy.optimize", "numpy"]}
    assert REGISTRY.chain([whole, part]).modules == ("scipy.optimize",)
    assert REGISTRY.chain([part, whole]).modules == ("scipy.optimize",)
    assert REGISTRY.chain([whole, {"modules": ["scipy_extra"]}]).modules == ()


@pytest.mark.parametrize("kind", [name for name in Limits.model_fields if name != "rates"])
def test_the_lowest_of_each_limit_counts(kind: str) -> None:
    """Wherever it stands; every kind there is."""
    low, high = (Limits.model_validate({kind: value}) for value in (17, 18))
    assert getattr(lowest_limits(low, high), kind) == 17
    assert getattr(lowest_limits(high, low), kind) == 17


def test_the_chain_of_a_later_registration_lacks_it() -> None:
    """A policy that was bound before knows nothing of it, so it cannot have allowed it."""
    registry = CapabilityRegistry()

    @registry.capability("box.one")
    async def one() -> int:
        return 1

    early = registry.bind({"allow": ["box.*"]})

    @registry.capability("box.two")
    async def two() -> int:
        return 2

    grant = registry.inject("caps", "e1", [early, {"allow": ["box.*"]}])
    assert grant.chain.granted == ("box.one",)
    decision = decide(grant, Request("box.two", {}), NOTHING_USED)
    assert decision.reason is ReasonCode.UNKNOWN_CAPABILITY


class TestScopes:
    def test_a_relative_path_is_decided_where_the_last_policy_starts_it(self) -> None:
        """Before anybody is asked or anything is opened."""
        inside = REGISTRY.inject("caps", "e1", [CEILING, OWN])
        assert decide(inside, Request("files.read", {"path": "a"}), NOTHING_USED).allowed
        turned = REGISTRY.inject("caps", "e1", [OWN, CEILING])
        refused = decide(turned, Request("files.read", {"path": "a"}), NOTHING_USED)
        assert (refused.reason, refused.policy_id) == (ReasonCode.SCOPE_VIOLATION, "own")

    def test_a_provider_gets_all_of_them(self) -> None:
        """As one scope that asks each, or one by one."""
        terms = REGISTRY.inject("caps", "e1", [CEILING, OWN]).terms["files.read"]
        assert isinstance(terms.scope, AllScopes)
        assert terms.scope.policy_ids == ("ceiling", "own")
        context = context_of("files.read", terms.scope)
        assert [each.allowlist for each in context.scopes_as(FilesScope)] == [
            ("/srv",),
            ("/srv/own",),
        ]
        assert terms.scope.violation("read", {"path": "/srv/own/a"}) is None
        assert terms.scope.violation("read", {"path": "/srv/a"}) is not None

    def test_a_provider_that_asks_for_one_of_several_fails(self) -> None:
        """It would check one and act beyond the others."""
        terms = REGISTRY.inject("caps", "e1", [CEILING, OWN]).terms["files.read"]
        context = context_of("files.read", terms.scope)
        with pytest.raises(ProviderError, match="several policies"):
            context.scope_as(FilesScope)

    def test_the_policy_of_a_scope_is_found_or_all_are_named(self) -> None:
        """A provider may refuse without saying by which scope."""
        scope = REGISTRY.inject("caps", "e1", [CEILING, OWN]).terms["files.read"].scope
        assert isinstance(scope, AllScopes)
        assert scope.policy_of(scope.parts[0]) == "ceiling"
        assert scope.policy_of(None) == "ceiling, own"

    @pytest.mark.parametrize(
        ("answer", "problem"), [(None, "same model"), (ZeroDivisionError(), "ZeroDivisionError")]
    )
    def test_a_scope_that_cannot_follow_makes_no_chain(self, answer: object, problem: str) -> None:
        """A custom model that fails is an invalid policy, never a scope less."""

        class Odd(Scope):
            def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
                return None

            def following(self, own: Scope) -> Scope:
                if isinstance(answer, Exception):
                    raise answer
                return answer  # type: ignore[return-value]

        registry = CapabilityRegistry()
        registry.domain("box", scope=Odd)

        @registry.capability("box.one")
        async def one(context: CallContext) -> int:
            return 1

        policy = {"allow": ["box.*"], "scopes": {"box": {}}}
        with pytest.raises(PolicyInvalidError, match=problem):
            registry.chain([policy, {**policy, "id": "other"}])


def test_a_policy_may_come_from_anywhere(tmp_path: Path) -> None:
    """A file, a dictionary and a bound policy, in one list."""
    file = tmp_path / "p.json"
    file.write_text('{"id": "file", "allow": ["time.*"]}')
    chain = REGISTRY.chain([file, {"allow": ["time.*"]}, REGISTRY.bind({"allow": ["time.now"]})])
    assert chain.granted == ("time.now",)
    assert [bound.source for bound in chain.policies] == [str(file), "dict", "dict"]
