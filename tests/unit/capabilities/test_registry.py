"""The registry: what exists, and nothing of it granted."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from dataclasses import fields, replace
from typing import Any

import anyio.lowlevel
import pytest

from caps.capabilities.provider import CallContext, Scope
from caps.capabilities.registration import CardTerms
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.spec import CapabilitySpec
from caps.protocol.errors import RegistrationError
from caps.security.policy import SecurityPolicy
from support.parameter_names import stable_repr


class ShelfScope(Scope):
    """A scope with one key."""

    heights: tuple[int, ...] = ()


def provider(context: CallContext, payload: Any) -> None: ...


@pytest.fixture
def registry() -> CapabilityRegistry:
    """Two capabilities of `box`, one of `shelf`, which has a scope."""
    made = CapabilityRegistry()
    made.domain("shelf", scope=ShelfScope, title="Shelves")
    for name in ("shelf.put", "box.put", "box.get"):
        made.register(CapabilitySpec(name=name, tags=frozenset({"b", "a"})), provider)
    return made


def test_a_registry_is_empty_by_default() -> None:
    """Only registered capabilities exist, so a policy can grant nothing."""
    registry = CapabilityRegistry()
    assert (len(registry), list(registry), registry.domains) == (0, [], {})
    assert registry.inject("caps", "e1", {}).chain.granted == ()


def test_what_is_registered_is_found_and_listed_in_order(registry: CapabilityRegistry) -> None:
    """By name, whatever the order of registration."""
    assert "box.put" in registry
    assert "box.drop" not in registry
    assert [spec.name for spec in registry] == ["box.get", "box.put", "shelf.put"]
    assert sorted(registry.domains) == ["box", "shelf"]


def test_what_is_handed_out_is_a_copy(registry: CapabilityRegistry) -> None:
    """The mapping cannot be used to register or remove, nor does it grow while it is read."""
    dict.clear(registry.domains)  # type: ignore[arg-type]
    functions = registry.capabilities
    assert not isinstance(functions, MutableMapping)
    registry.register(CapabilitySpec(name="box.new"), provider)
    assert (len(functions), len(registry), len(registry.domains)) == (3, 4, 2)


def test_a_name_is_registered_once(registry: CapabilityRegistry) -> None:
    """A second provider would change what a policy grants."""
    with pytest.raises(RegistrationError, match=r"`box\.put` is registered already"):
        registry.register(CapabilitySpec(name="box.put"), provider)


def test_a_domain_is_declared_once(registry: CapabilityRegistry) -> None:
    """Also after it was made by its first capability, for its scope must not change."""
    for name in ("shelf", "box"):
        with pytest.raises(RegistrationError, match=f"domain `{name}` is declared already"):
            registry.domain(name, scope=ShelfScope)


@pytest.mark.parametrize("name", ["", "Box", "box.put", "_box", "box\n", "*"])
def test_a_domain_needs_a_name(name: str) -> None:
    """One short lowercase identifier."""
    with pytest.raises(RegistrationError, match="is not a valid domain name"):
        CapabilityRegistry().domain(name)


def test_a_provider_must_be_callable() -> None:
    """What cannot be called is refused when it is registered."""
    with pytest.raises(RegistrationError, match=r"the provider of `box\.put` cannot be called"):
        CapabilityRegistry().register(CapabilitySpec(name="box.put"), "put")  # type: ignore[call-overload]


@pytest.mark.parametrize("which", ["schema_in", "schema_out"])
def test_an_unusable_schema_leaves_nothing_behind(which: str) -> None:
    """Neither the capability nor its domain exist afterwards."""
    registry = CapabilityRegistry()
    spec = CapabilitySpec.model_validate({"name": "box.put", which: {"type": "nothing"}})
    with pytest.raises(RegistrationError, match=f"{which} of `box.put`"):
        registry.register(spec, provider)
    assert (len(registry), registry.domains) == (0, {})


@pytest.mark.parametrize("name", ["box", "box.options", "Box.put", "box.import"])
def test_the_decorator_refuses_bad_and_reserved_names(name: str) -> None:
    """With the error of the registry and not of its model."""

    def put() -> None: ...

    with pytest.raises(RegistrationError, match=f"capability `{name}`: name: "):
        CapabilityRegistry().capability(name)(put)


def test_common_mistakes_of_a_registration_are_explained() -> None:
    """In words, not by an expression or a type of the model."""

    def put(path: str) -> None: ...

    with pytest.raises(RegistrationError, match=r"name: should be `domain\.function`: lowercase"):
        CapabilityRegistry().capability("put")(put)
    shown: Any = "path"
    with pytest.raises(RegistrationError, match="shown: should be a tuple of arguments, such as"):
        CapabilityRegistry().capability("box.put", shown=shown)(put)


def test_a_payload_is_an_object_and_without_a_schema_an_empty_one(
    registry: CapabilityRegistry,
) -> None:
    """A capability without a schema takes no arguments."""
    schema = registry.capabilities["box.put"].schema_in
    assert schema.problems({}) == ()
    assert [problem.expected for problem in schema.problems({"a": 1})] == [
        "no property `a`; known: none"
    ]
    assert schema.problems([]) != ()


def test_describe_is_plain_data_with_everything_a_reader_needs(
    registry: CapabilityRegistry,
) -> None:
    """It survives JSON unchanged, tags in order, scopes as schemas."""
    described = registry.describe()
    assert json.loads(json.dumps(described)) == described
    assert [entry["name"] for entry in described] == ["box.get", "box.put", "shelf.put"]
    box, shelf = described[1], described[2]
    assert (box["domain"], box["tags"], box["scope_schema"]) == ("box", ["a", "b"], None)
    assert list(shelf["scope_schema"]["properties"]) == ["heights"]
    assert box.keys() == {
        "name",
        "schema_in",
        "schema_out",
        "streams",
        "tags",
        "title",
        "description",
        "shown",
        "idempotent",
        "timeout_ms",
        "inline",
        "raises",
        "labels",
        "egress",
        "domain",
        "scope_schema",
    }


@pytest.mark.parametrize("namespace", ["", "1caps", "a b", "_caps", "__builtins__", "caps.files"])
def test_a_namespace_must_be_a_public_identifier(
    registry: CapabilityRegistry, namespace: str
) -> None:
    """It becomes a name in user space."""
    with pytest.raises(RegistrationError, match="cannot be the name of a namespace"):
        registry.inject(namespace, "e1", {})


def test_inject_takes_every_form_of_policy(registry: CapabilityRegistry) -> None:
    """A dictionary, a model, and one that was bound before, which is used as it is."""
    rules = {"id": "p", "allow": ["box.put"]}
    bound = registry.bind(rules)
    policies: list[Any] = [rules, SecurityPolicy.model_validate(rules), bound]
    for policy in policies:
        grant = registry.inject("caps", "e7", policy)
        assert (grant.execution_id, grant.namespace, grant.policy_id) == ("e7", "caps", "p")
        assert grant.chain.granted == ("box.put",)
        assert grant.policy_sha256 == bound.policy.sha256
    assert registry.inject("caps", "e7", bound).chain.policies == (bound,)


def test_revoking_makes_another_grant(registry: CapabilityRegistry) -> None:
    """A grant itself never changes."""
    grant = registry.inject("caps", "e1", {"allow": ["box.*"]})
    less = grant.revoking("box.put").revoking("box.get")
    assert grant.revoked == frozenset()
    assert less.revoked == frozenset({"box.put", "box.get"})
    assert less.chain is grant.chain


def test_a_grant_by_another_name_is_the_same_grant(registry: CapabilityRegistry) -> None:
    """Nothing of it is left out, also if it is revoked or watched."""
    registry.refuse_uncarded(["box.take"])
    registry.use_cards({"box.put": CardTerms(agent_type="box", cost_estimate=0.5)})
    injected = registry.inject("tools", "e1", {"allow": ["box.*"]}, budget=2.0)
    assert (injected.costs, injected.limits.cost) == ({"box.put": 500_000}, 2.0)
    grant = injected.revoking("box.put").for_learning()
    for field in fields(grant):  # none would be missed for having its default
        assert not field.init or getattr(grant, field.name) != field.default
    assert grant.named("e2") == replace(grant, execution_id="e2")


def test_a_decorator_without_parentheses_says_how_it_is_written() -> None:
    """It would leave the function replaced and nothing registered."""
    registry: Any = CapabilityRegistry()

    def put(item: str) -> None: ...

    with pytest.raises(RegistrationError, match=r'@registry\.capability\("domain\.function"\)'):
        registry.capability(put)
    assert len(registry) == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"title": b"x"}, "title must be a `str`, not `bytes`"),
        ({"description": {}}, "description must be a `str`, not `dict`"),
        ({"tags": 3}, "tags must be a set of strings, not `int`"),
        ({"tags": "net"}, "tags must be a set of strings, not `str`"),
    ],
)
def test_what_says_nothing_of_a_capability_is_one_plain_error(
    given: dict[str, Any], said: str
) -> None:
    """It names the argument; each letter of a string would become a tag."""
    registry = CapabilityRegistry()
    with pytest.raises(RegistrationError) as raised:
        registry.capability("box.put", **given)
    assert str(raised.value) == said


@pytest.mark.parametrize("name", ["box.put\nbox.get", "no"])
def test_a_bad_name_is_reported_in_one_line(name: str) -> None:
    """Whatever it holds."""
    registry = CapabilityRegistry()

    def put(item: str) -> None: ...

    with pytest.raises(RegistrationError) as raised:
        registry.capability(name)(put)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("scope", [3, "Files", object, CapabilityRegistry()])
def test_a_scope_is_a_class_of_its_kind(scope: Any) -> None:
    """Reported when the domain is declared, and not when a policy is bound."""
    said = "^scope must be a class derived from `Scope`, not `.*`$"
    with pytest.raises(RegistrationError, match=said):
        CapabilityRegistry().domain("box", scope=scope)


def test_a_domain_is_named_by_a_text() -> None:
    """Bytes are none, though they hold letters."""
    name: Any = b"box"
    with pytest.raises(RegistrationError, match="is not a valid domain name"):
        CapabilityRegistry().domain(name)


async def _straight(word: str) -> str:
    return word


async def _suspending(word: str) -> str:
    await anyio.lowlevel.checkpoint()
    return word


def _plain(word: str) -> str:
    return word


@pytest.mark.parametrize(
    ("function", "declared", "inline"),
    [
        (_straight, None, True),
        (_straight, True, True),
        (_straight, False, False),
        (_suspending, None, False),
        (_suspending, False, False),
        (_plain, None, False),
    ],
)
def test_a_spec_says_whether_its_provider_is_called_inline(
    function: Any, declared: bool | None, inline: bool
) -> None:
    """Derived from the provider, unless it is declared."""
    registry = CapabilityRegistry()
    registry.capability("box.echo", inline=declared)(function)
    assert next(iter(registry)).inline is inline
    grant = registry.inject("caps", "e1", {"allow": ["box.echo"]})
    assert grant.terms["box.echo"].inline is inline


@pytest.mark.parametrize("function", [_suspending, _plain])
def test_a_provider_that_may_suspend_cannot_be_declared_inline(function: Any) -> None:
    """It would hold the event loop, or fail in the middle of a call."""
    registry = CapabilityRegistry()
    with pytest.raises(RegistrationError, match="cannot be inline"):
        registry.capability("box.echo", inline=True)(function)


@pytest.mark.parametrize("spec", [None, "box.put", {"name": "box.put"}, CapabilitySpec, 5])
def test_what_is_not_a_spec_is_refused(registry: CapabilityRegistry, spec: Any) -> None:
    """In one line that says what was expected."""
    with pytest.raises(RegistrationError, match=r"^spec must be a `CapabilitySpec`, not `\w+`$"):
        registry.register(spec, provider)


@pytest.mark.parametrize(
    "fields",
    [
        {"idempotent": "no"},
        {"idempotent": 1},
        {"inline": "off"},
        {"inline": 0},
        {"timeout_ms": True},
        {"timeout_ms": "5"},
        {"shown": "path"},
    ],
    ids=stable_repr,
)
def test_flags_are_not_converted(registry: CapabilityRegistry, fields: dict[str, Any]) -> None:
    """`"no"` is not a bool; a spec that was built without its checks is checked here."""
    unchecked = CapabilitySpec.model_construct(name="box.other", **fields)
    with pytest.raises(RegistrationError, match=r"^capability `box.other`: [^\n]+$"):
        registry.register(unchecked, provider)
    with pytest.raises(RegistrationError, match=r"^capability `box.other`: [^\n]+$"):
        registry.capability("box.other", **fields)(noop)


async def noop() -> None: ...


def test_grants_refuse_functions_without_a_valid_tool_card() -> None:
    """Those that are made afterwards, and for good: also the next runs of a session."""
    registry = CapabilityRegistry()
    registry.register(CapabilitySpec(name="shelf.put"), provider)
    policy = registry.bind({"allow": ["shelf.put"]})
    before = registry.inject("caps", "1", policy)
    registry.refuse_uncarded(["shelf.put"])
    grant = registry.inject("caps", "2", policy)
    assert before.uncarded == frozenset()
    assert grant.uncarded == grant.named("3").uncarded == grant.revoking("x").uncarded
    assert grant.uncarded == {"shelf.put"}
    assert grant.chain.granted == ("shelf.put",)  # code may ask, so that it is recorded
    registry.refuse_uncarded([])
    assert registry.inject("caps", "4", policy).uncarded == frozenset()
