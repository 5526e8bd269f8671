"""Random schemas and random plans: what the validator is certain of is so when the plan runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
from hypothesis import event, given
from hypothesis import strategies as st
from opentelemetry import trace
from prometheus_client import CollectorRegistry

from caps import CapabilityRegistry, MemoryAuditLog
from caps.agents.plans.fitting import Comparison, is_certain
from caps.agents.plans.plan import plan_of
from caps.agents.plans.problems import PlanCode
from caps.agents.plans.run import PlanResult, StepStatus, run_steps
from caps.agents.plans.schemas import Presence, Schema, pointed
from caps.agents.plans.validate import CheckedPlan, validate
from caps.capabilities.broker.approvals import ApprovalQueue
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.identity import Identity
from caps.capabilities.runtime.call import open_channel
from caps.capabilities.runtime.open_runtime import ActiveExecutions
from caps.capabilities.schemas.schema import CompiledSchema
from caps.capabilities.spec import CapabilitySpec
from caps.capabilities.telemetry import Metrics, Tracing
from support.hypothesis_examples import examples

NAMES = ("a", "b", "c")
# Few values, so that two schemas often have some in common.
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 4),
    st.sampled_from([0.5, 1.5, 2.0]),
    st.sampled_from(["", "x", "xy", "xyz"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=6,
)
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def keywords(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=values)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    few = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        keywords(
            type=st.just("array"),
            items=inner,
            prefixItems=few,
            minItems=st.integers(0, 2),
            maxItems=st.integers(0, 3),
            uniqueItems=st.booleans(),
        ),
        keywords(
            type=st.sampled_from(["object", ["object", "null"]]),
            properties=st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
            required=st.lists(st.sampled_from(NAMES), unique=True, max_size=2),
            additionalProperties=st.one_of(st.booleans(), inner),
            minProperties=st.integers(0, 2),
            maxProperties=st.integers(0, 3),
            patternProperties=st.just({"^a": {"type": "string"}}),
        ),
        st.builds(lambda key, few: {key: few}, st.sampled_from(["anyOf", "oneOf", "allOf"]), few),
        st.builds(
            lambda own, rest: {"$defs": {"it": own}, "$ref": "#/$defs/it", **rest},
            # A definition of its own would be found in the wrong document.
            inner.filter(lambda node: "$ref" not in repr(node)),
            keywords(type=st.sampled_from(TYPES)),
        ),
    )


SCHEMAS = st.recursive(
    st.one_of(
        st.booleans(),
        st.builds(lambda kind: {"type": kind}, st.sampled_from(TYPES)),
        st.builds(
            lambda kinds: {"type": kinds},
            st.lists(st.sampled_from(TYPES), min_size=2, max_size=3, unique=True),
        ),
        st.builds(lambda values: {"enum": values}, st.lists(LEAVES, min_size=1, max_size=3)),
        st.builds(lambda value: {"const": value}, VALUES),
        keywords(
            type=st.sampled_from(["integer", "number"]),
            minimum=st.integers(-2, 3),
            maximum=st.integers(-2, 3),
            exclusiveMinimum=st.integers(-2, 3),
            exclusiveMaximum=st.integers(-2, 3),
            multipleOf=st.sampled_from([1, 2]),
        ),
        keywords(
            type=st.just("string"),
            minLength=st.integers(0, 3),
            maxLength=st.integers(0, 3),
            pattern=st.sampled_from(["^x", "y$"]),
        ),
        st.builds(lambda kind: {"not": {"type": kind}}, st.sampled_from(TYPES)),
    ),
    containers,
    max_leaves=6,
)
# `$ref` only at the top: a nested one would point into the wrong document.
DOCUMENTS = SCHEMAS.filter(
    lambda node: (
        "$ref" not in repr({k: v for k, v in node.items() if k != "$ref"})
        if isinstance(node, dict)
        else True
    )
)


def is_valid(schema: Any, value: Any) -> bool:
    return CompiledSchema(schema, "it").problems(value) == ()


@given(DOCUMENTS, DOCUMENTS, st.lists(VALUES, min_size=1, max_size=20))
@examples(200)
def test_what_certainly_fits_or_never_fits_does_so(
    source: Any, target: Any, values: list[Any]
) -> None:
    """For every value of the one schema, the validator of the other agrees."""
    found = Comparison().findings(Schema(source, source), Schema(target, target), "$")
    event("fits" if not found else "never" if is_certain(found) else "open")
    for value in values:
        if is_valid(source, value) and not found:
            assert is_valid(target, value)
        if is_valid(source, value) and is_certain(found):
            assert not is_valid(target, value)


@given(DOCUMENTS, st.sampled_from([*NAMES, "0", "1"]), st.lists(VALUES, min_size=1, max_size=20))
@examples(200)
def test_a_pointer_finds_what_its_schema_says(source: Any, token: str, values: list[Any]) -> None:
    """What certainly is there is there, and fits the schema that was found for it."""
    found = pointed(Schema(source, source), (token,))
    event(found.presence.value)
    for value in values:
        if not is_valid(source, value):
            continue
        if isinstance(value, dict):
            has, part = token in value, value.get(token)
        else:
            index = int(token) if token.isdecimal() else None
            has = isinstance(value, list) and index is not None and index < len(value)
            part = value[index] if has else None
        assert has or found.presence is not Presence.CERTAIN
        assert not has or found.presence is not Presence.IMPOSSIBLE
        if has:
            assert not is_certain(Comparison().findings(Schema({"const": part}), found.schema, "$"))


# A schema, and a value of it that a function answers with.
TYPED: st.SearchStrategy[tuple[Any, Any]] = st.sampled_from(
    [
        ({"type": "integer"}, 3),
        ({"type": "integer", "minimum": 10}, 12),
        ({"type": "number"}, 1.5),
        ({"type": "number"}, 2),
        ({"type": "string"}, "word"),
        ({"type": "string", "maxLength": 2}, "ab"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "there"),
        ({"enum": ["red", "green"]}, "red"),
        ({"type": "array", "items": {"type": "string"}}, ["one", "two"]),
        ({"type": "array", "items": {"type": "string"}}, []),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"a": "x"},
        ),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {}),
        ({}, {"anything": 1}),
    ]
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[tuple[Any, Any]], list[dict[str, Any]]]:
    """Functions, each with the type of its one input and that of its output, and a plan."""
    functions = draw(st.lists(st.tuples(TYPED, TYPED), min_size=1, max_size=3))
    steps: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 4))):
        which = draw(st.integers(0, len(functions) - 1))
        given_value: Any = draw(st.one_of(st.just(functions[which][0][1]), VALUES))
        if steps and draw(st.sampled_from([True, False])):
            given_value = {"$from": draw(st.sampled_from([each["id"] for each in steps]))}
            given_value["at"] = draw(st.sampled_from(["/out", "", "/out/a", "/out/0"]))
        if draw(st.integers(0, 5)) == 0:
            given_value = [given_value]
        steps.append({"id": f"s{number}", "tool": f"do.f{which}", "inputs": {"given": given_value}})
    return functions, steps


def registry_of(functions: list[tuple[Any, Any]]) -> CapabilityRegistry:
    registry = CapabilityRegistry()
    for number, ((taken, _), (made, value)) in enumerate(functions):
        spec = CapabilitySpec(
            name=f"do.f{number}",
            schema_in={
                "type": "object",
                "properties": {"given": taken},
                "required": ["given"],
                "additionalProperties": False,
            },
            schema_out={"type": "object", "properties": {"out": made}, "required": ["out"]},
        )

        async def provide(_context: Any, _payload: Mapping[str, Any], answer: Any = value) -> Any:
            return {"out": answer}

        registry.register(spec, provide)
    return registry


def ran(registry: CapabilityRegistry, checked: CheckedPlan) -> PlanResult:
    """The plan through a real broker, whatever the validator said."""
    audit, metrics = MemoryAuditLog(), Metrics(CollectorRegistry())
    services = BrokerServices(
        audit=audit,
        metrics=metrics,
        tracing=Tracing(trace.NoOpTracerProvider()),
        default_timeout_ms=5000,
        approvals=ApprovalQueue(audit, metrics, None),
    )
    grant = registry.inject("caps", "e1", {"allow": ["do.*"]})

    async def main() -> PlanResult:
        with open_channel(services, ActiveExecutions(), grant, Identity()) as channel:
            return await run_steps(checked, channel)
        raise AssertionError("the channel was closed")

    return anyio.run(main)


@given(worlds())
@examples(80)
def test_a_plan_runs_as_the_validator_said(
    world: tuple[list[tuple[Any, Any]], list[dict[str, Any]]],
) -> None:
    """Without problems every step succeeds; with an error one does not."""
    functions, steps = world
    registry = registry_of(functions)
    plan = plan_of({"version": 1, "id": "p", "steps": steps})
    checked = validate(plan, registry, registry.chain({"allow": ["do.*"]}))
    result = ran(registry, checked)
    event("errors" if checked.errors else "warnings" if checked.problems else "fine")
    if not checked.problems:
        assert result.ok, result
    if checked.errors:
        assert not result.ok, (checked.problems, result)
        stopped = next(each for each in result.steps if each.status is not StepStatus.SUCCEEDED)
        assert stopped.id in {each.step for each in checked.problems}


FAULTS: dict[PlanCode, dict[str, Any]] = {
    PlanCode.TOOL_UNKNOWN: {"tool": "do.nothing"},
    PlanCode.AGENT_TYPE_UNKNOWN: {"tool": None, "agent_type": "nobody"},
    PlanCode.REFERENCE_MALFORMED: {"inputs": {"given": {"$from": "s0", "and": 1}}},
    PlanCode.STEP_UNKNOWN: {"inputs": {"given": {"$from": "nowhere"}}},
    PlanCode.STEP_LATER: {"inputs": {"given": {"$from": "last", "at": "/out"}}},
    PlanCode.INPUT_INVALID: {"inputs": {"given": 1, "and": 1}},
    PlanCode.TYPE_MISMATCH: {"inputs": {"given": {"$from": "first"}}},
    PlanCode.NOT_GRANTED: {"tool": "do.withheld"},
}


@given(
    st.lists(st.sampled_from(sorted(FAULTS)), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
@examples(50)
def test_every_seeded_fault_is_found_at_its_step(codes: list[PlanCode], random: Any) -> None:
    """However many there are, and wherever they are."""
    integer = ({"type": "integer"}, 1)
    registry = registry_of([(integer, integer)])

    @registry.capability("do.withheld")
    async def withheld(given: int) -> None: ...

    good: dict[str, Any] = {"tool": "do.f0", "inputs": {"given": 1}}
    steps = [{**good, **FAULTS[code]} for code in codes] + [dict(good) for _ in range(3)]
    random.shuffle(steps)
    steps = [
        {"id": f"s{number}", **{k: v for k, v in step.items() if v is not None}}
        for number, step in enumerate(steps)
    ]
    steps = [{"id": "first", **good}, *steps, {"id": "last", **good}]
    plan = plan_of({"version": 1, "id": "p", "steps": steps})
    policy = {"allow": ["do.*"], "deny": ["do.withheld"]}
    checked = validate(plan, registry, registry.chain(policy))
    wanted = {
        (step["id"], code)
        for step in steps
        for code in codes
        if all(step.get(key) == value for key, value in FAULTS[code].items())
    }
    found = {(problem.step, problem.code) for problem in checked.errors}
    assert wanted <= found
    assert {step for step, _ in found} == {step for step, _ in wanted}
