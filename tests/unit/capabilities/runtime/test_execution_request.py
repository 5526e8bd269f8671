"""What a worker is told is made once for all executions under the same policies."""

from __future__ import annotations

import pytest

from caps import builtin_registry
from caps.capabilities.grant import Grant
from caps.capabilities.runtime.execution_request import job_under
from caps.worker.host.supervisor.interface import Manifest

_LIMITS = {"wall_ms": 1000, "cpu_ms": 900, "memory_mb": 100, "concurrency": 3, "calls": 7}
_POLICIES = [
    {"id": "two", "allow": ["math.*", "time.now"], "limits": {**_LIMITS, "output_bytes": 5}},
    {"id": "own", "allow": ["math.add"], "limits": {**_LIMITS, "cost": 2}},
]


@pytest.mark.parametrize("session", [False, True])
@pytest.mark.parametrize("learning", [False, True])
@pytest.mark.parametrize("budget", [None, 0.5])
def test_a_job_is_what_its_grant_says(session: bool, learning: bool, budget: float | None) -> None:
    """Also if the grant has a budget, which no job has."""
    grant = builtin_registry().inject("tools", "e1", _POLICIES, budget=budget)
    grant = grant.for_learning() if learning else grant
    job = job_under(grant.chain, grant.namespace, grant.learning, session)
    limits, worker = grant.limits, job.worker_limits
    assert (job.namespace, job.policy_id, job.session) == ("tools", "two, own", session)
    assert (job.manifest, job.manifest_bytes) == (grant.manifest, grant.manifest_bytes)
    assert len(job.manifest) == (len(grant.terms) if learning else 1)
    assert (job.wall_ms, job.output_bytes) == (limits.wall_ms, limits.output_bytes) == (1000, 5)
    assert (worker.cpu_ms, worker.memory_mb) == (limits.cpu_ms, limits.memory_mb) == (900, 100)
    assert (worker.concurrency, worker.calls) == (limits.concurrency, limits.calls) == (3, 7)
    assert job.max_requests > limits.calls
    assert job.modules == grant.modules
    assert limits.cost == (2 if budget is None else budget)
    entries = grant.manifest if learning else grant.chain.manifest_bytes
    assert Manifest.of(job) == Manifest("tools", "two, own", entries, session)


def test_jobs_under_other_policies_differ() -> None:
    """They are kept by the policies, the namespace, and whether a session or learning uses them."""
    registry = builtin_registry()
    one, other = (registry.inject("caps", "e1", policy) for policy in _POLICIES)

    def under(grant: Grant, namespace: str = "caps", *, session: bool = False) -> Manifest:
        return Manifest.of(job_under(grant.chain, namespace, False, session))

    assert under(one) is under(one)
    assert len({id(under(one)), id(under(other)), id(under(one, "tools"))}) == 3
    assert under(one, session=True).session
