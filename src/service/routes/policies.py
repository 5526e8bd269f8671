"""`/v1/policies`: those in force, reviews of others, and putting one in force.

Reviews grant nothing. A policy comes into force by its file: it is checked and its tests run, the
file is replaced, and the runtime loads it as it loads any change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import anyio
import anyio.to_thread
from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from caps.capabilities.grant import BoundPolicy
from caps.capabilities.runtime.opening.protected_paths import default_protected_paths
from caps.protocol.errors import PolicyInvalidError
from caps.security.policies.load import LoadedPolicy, policy_from_json
from caps.security.request import Request as CallRequest
from caps.security.review.diff import diff
from caps.security.review.explain import explain
from caps.security.review.lint import lint
from caps.security.review_documents import diff_document, explanation_document
from caps.service.bodies import Body, JsonObject, answer
from caps.service.description.shapes import OBJECT, named, shape
from caps.service.policy_file import replace_policy_file
from caps.service.problems import Problem
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import Caller, Service, ServiceGiven
from caps.service.signin.roles import Role

router = APIRouter(route_class=SecuredRoute, tags=["policies"])

_IN_FORCE: Final = shape(items={"type": "array", "items": named("Policy")})

# Longer than two polls of a file, and the start of workers.
IN_FORCE_SECONDS: Final = 30
_GIVEN: Final = "request"
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class OnePolicy(Body):
    """A policy to review."""

    policy: JsonObject


class Question(Body):
    """A call, and the policy that decides about it; by default those in force."""

    function: Annotated[str, Field(min_length=1, max_length=256)]
    payload: JsonObject = Field(default_factory=dict)
    after: Annotated[list[str], Field(max_length=64)] = Field(default_factory=list)
    policy: JsonObject | None = None


class TwoPolicies(Body):
    """What changes from one to the other; the older one is by default the last one in force."""

    older: JsonObject | None = None
    newer: JsonObject


class Activation(Body):
    """A policy, and the digest of the one in force that it replaces."""

    policy: JsonObject
    replaces: Digest


@router.get("/v1/policies", openapi_extra=needs(Role.PUBLISHER, answers={200: _IN_FORCE}))
async def list_policies(service: ServiceGiven) -> Response:
    """The policies in force, of which each must allow."""
    pairs = zip(service.runtime.policies, service.policy_files, strict=True)
    return answer({"items": [_document(bound, file) for bound, file in pairs]})


@router.post(
    "/v1/policies/validate",
    openapi_extra=needs(Role.PUBLISHER, answers={200: named("PolicyReview")}),
)
async def validate_policy(body: OnePolicy, service: ServiceGiven) -> Response:
    """Whether a policy fits the registry and passes its own tests, and what it would grant."""

    def work() -> dict[str, Any]:
        try:
            bound = service.runtime.registry.bind(_loaded(service, body.policy))
        except PolicyInvalidError as error:
            problem = {"detail": error.message, "path": error.details.get("place")}
            return {"valid": False, "problem": problem}
        withheld = {name: str(reason) for name, reason in bound.reasons.items()}
        found = {"granted": list(bound.granted), "withheld": withheld}
        return {"valid": True, **_summary(bound), **found, "tests": len(bound.policy.tests)}

    return answer(await anyio.to_thread.run_sync(work, limiter=service.reviewers))


@router.post(
    "/v1/policies/lint", openapi_extra=needs(Role.PUBLISHER, answers={200: named("PolicyFindings")})
)
async def lint_policy(body: OnePolicy, service: ServiceGiven) -> Response:
    """Rules that do nothing, or allow more than was meant."""

    def work() -> dict[str, Any]:
        loaded = _loaded(service, body.policy)
        found = lint(
            service.runtime.registry,
            loaded,
            written=body.policy,
            protected=default_protected_paths(),
        )
        return {"policy": loaded.policy.id, "findings": [asdict(one) for one in found]}

    return answer(await anyio.to_thread.run_sync(work, limiter=service.reviewers))


@router.post("/v1/policies/explain", openapi_extra=needs(Role.PUBLISHER, answers={200: OBJECT}))
async def explain_decision(body: Question, service: ServiceGiven) -> Response:
    """What is decided about a call, why, and the smallest change that would allow it."""
    in_force = [_of_force(service, index) for index in range(len(service.policy_files))]

    def work() -> dict[str, Any]:
        loaded = in_force if body.policy is None else [_loaded(service, body.policy)]
        request = CallRequest(body.function, body.payload)
        registry = service.runtime.registry
        found = explain(
            registry,
            loaded,
            request,
            written=None if body.policy is None else [body.policy],
            after=body.after,
        )
        return explanation_document(body.function, found)

    def checked() -> dict[str, Any]:
        unknown = [name for name in body.after if name not in service.runtime.registry]
        if unknown:
            raise Problem(422, "request_invalid", "there is no such function", path="after")
        return work()

    return answer(await anyio.to_thread.run_sync(checked, limiter=service.reviewers))


@router.post("/v1/policies/diff", openapi_extra=needs(Role.PUBLISHER, answers={200: OBJECT}))
async def diff_policies(body: TwoPolicies, service: ServiceGiven) -> Response:
    """What the newer policy lets through, compared to the older one."""
    last = _of_force(service, len(service.policy_files) - 1)

    def work() -> dict[str, Any]:
        older = last if body.older is None else _loaded(service, body.older)
        newer = _loaded(service, body.newer)
        return diff_document(diff(service.runtime.registry, older, newer))

    return answer(await anyio.to_thread.run_sync(work, limiter=service.reviewers))


@router.post(
    "/v1/policies/activate", openapi_extra=needs(Role.ADMIN, 409, answers={200: named("Policy")})
)
async def activate_policy(body: Activation, service: ServiceGiven, caller: Caller) -> Response:
    """Put a policy in force instead of one that is; its tests must pass first."""
    async with service.activating:
        digests = [each.policy.sha256 for each in service.runtime.policies]
        if body.replaces not in digests:
            what = "no policy in force has this digest; read them again"
            raise Problem(409, "policy_changed", what, path="replaces")
        index = digests.index(body.replaces)
        file = service.policy_files[index]
        if file is None:
            raise Problem(409, "policy_not_a_file", "this policy is not from a watched file")
        data = json.dumps(body.policy, indent=2, ensure_ascii=False).encode() + b"\n"
        policy = policy_from_json(data, source=_GIVEN)
        bound = service.runtime.registry.bind(
            LoadedPolicy(policy, str(file), file.parent, file),
            guarded=service.runtime.policies[index].guarded,
        )
        await service.runtime.bind(bound, replace=True)  # workers with its modules can be started
        who = service.administrator(caller)
        async with who.recorded("policy_activate", policy.id, sha256=policy.sha256):
            await _put_in_force(service, index, file, data, policy.sha256)
        return answer(_document(service.runtime.policies[index], file))


async def _put_in_force(service: Service, index: int, file: Path, data: bytes, sha256: str) -> None:
    try:
        await anyio.to_thread.run_sync(replace_policy_file, file, data)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        what = f"the policy file cannot be replaced: {reason}"
        raise Problem(409, "policy_not_writable", what) from error
    with anyio.move_on_after(IN_FORCE_SECONDS):
        # The runtime polls the file; there is no event to wait for.
        while service.runtime.policies[index].policy.sha256 != sha256:  # noqa: ASYNC110
            await anyio.sleep(0.05)
        return
    raise Problem(503, "policy_not_in_force", "the file is written; the log says why it waits")


def _loaded(service: Service, policy: Mapping[str, Any]) -> LoadedPolicy:
    """A policy of the request; relative paths start where those of the operator's do."""
    data = json.dumps(policy, ensure_ascii=False).encode("utf-8", "surrogatepass")
    base = next((file.parent for file in service.policy_files if file is not None), Path.cwd())
    return LoadedPolicy(policy_from_json(data, source=_GIVEN), _GIVEN, base)


def _of_force(service: Service, index: int) -> LoadedPolicy:
    bound, file = service.runtime.policies[index], service.policy_files[index]
    base = Path.cwd() if file is None else file.parent
    return LoadedPolicy(bound.policy, bound.source, base, file)


def _summary(bound: BoundPolicy) -> dict[str, Any]:
    return {"id": bound.policy.id, "sha256": bound.policy.sha256}


def _document(bound: BoundPolicy, file: Path | None) -> dict[str, Any]:
    written = bound.policy.model_dump(mode="json", exclude_unset=True)
    return {
        **_summary(bound),
        "terms_sha256": bound.terms_sha256,
        "can_be_replaced": file is not None,
        "policy": written,
    }
