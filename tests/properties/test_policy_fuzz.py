"""Any bytes as a policy: a policy, or a one-line error that names its place, and nothing else."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from caps.protocol.errors import PolicyInvalidError
from caps.providers.builtin import builtin_registry
from caps.security.policies.load import load_policy, policy_from_json
from caps.security.policy import SecurityPolicy

REGISTRY = builtin_registry()

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
rules = st.sampled_from(
    [
        "files.read",
        "files.*",
        "time.now",
        "math.*",
        "*",
        "files.re*",
        "nope.x",
        "",
        "a.b.c",
        "FILES.READ",
    ]
)
# Nearly policies: right keys, often wrong values, so that every check is reached.
nearly = st.fixed_dictionaries(
    {},
    optional={
        "version": st.sampled_from([1, 2, "1", True]) | scalars,
        "id": st.text(max_size=8) | scalars,
        "allow": st.lists(rules, max_size=4) | values,
        "deny": st.lists(rules, max_size=4) | values,
        "approve": st.lists(rules, max_size=2) | values,
        "scopes": st.dictionaries(
            st.sampled_from(["files", "time", "nope"]),
            st.fixed_dictionaries(
                {},
                optional={
                    "allowlist": st.lists(st.text(max_size=8), max_size=3) | values,
                    "read_only": scalars,
                    "max_bytes": scalars,
                    "alowlist": scalars,
                },
            ),
            max_size=3,
        )
        | values,
        "limits": st.dictionaries(
            st.sampled_from(["wall_ms", "calls", "rates", "memory_mb", "nope"]), values, max_size=4
        )
        | values,
        "tests": st.lists(values, max_size=2),
        "allwo": scalars,
    },
)


def outcome(data: bytes) -> SecurityPolicy | PolicyInvalidError:
    try:
        policy = policy_from_json(data, source="fuzz")
        REGISTRY.bind(load_policy(policy))
    except PolicyInvalidError as error:
        return error
    return policy


def check(found: SecurityPolicy | PolicyInvalidError) -> None:
    if isinstance(found, PolicyInvalidError):
        assert "\n" not in found.message
        assert found.message.startswith("policy `")
    else:
        assert len(found.sha256) == 64


@given(st.binary(max_size=200))
def test_any_bytes_are_a_policy_or_a_clear_error(data: bytes) -> None:
    """Garbage never raises anything else."""
    check(outcome(data))


@given(nearly)
def test_near_misses_are_reported_in_one_line(policy: dict[str, Any]) -> None:
    """Every wrong value has its message, and what is right binds."""
    check(outcome(json.dumps(policy).encode()))
