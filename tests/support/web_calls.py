"""Calls of `web.fetch` and `secrets.handle` through a real broker, without a worker."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import msgspec
from opentelemetry import trace
from prometheus_client import CollectorRegistry

from caps import CapabilityRegistry, MemoryAuditLog
from caps.capabilities.broker.approvals import ApprovalQueue
from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.broker.nested import NoHost
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.identity import Identity, new_id
from caps.capabilities.provider import ResourceFactory
from caps.capabilities.runtime.provider_host.shared_resources import SharedResources
from caps.capabilities.telemetry import Metrics, Tracing
from caps.protocol.errors import CALL_ERRORS
from caps.protocol.messages import CapabilityRequestMessage
from caps.providers.secrets import register_secrets
from caps.providers.web import WebFetcher, register_web
from caps.providers.web.engine import Engine, open_tls
from caps.providers.web.fetch import Timeouts
from caps.security.audit import DecisionMade, OutcomeRecorded

T = TypeVar("T")


class Names:
    """A resolver that a test controls: each look-up of a name gets the next of its answers."""

    def __init__(self, **answers: Sequence[str] | Sequence[Sequence[str]]) -> None:
        self.answers: dict[str, list[Sequence[str]]] = {}
        self.asked: list[str] = []
        for name, given in answers.items():
            several = [given] if given and isinstance(given[0], str) else given
            self.answers[name.replace("_", ".")] = list(several)  # type: ignore[arg-type]

    def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self.answers.get(host)
        if not answers:
            raise OSError("no such host")
        return answers.pop(0) if len(answers) > 1 else answers[0]


class _Host(NoHost):
    """What a runtime would share; there are no workers."""

    def __init__(self, resources: SharedResources) -> None:
        self._resources = resources

    async def resource(self, factory: ResourceFactory[T]) -> T:
        return await self._resources.get(factory)


class WebCalls:
    """Calls of one caller under the policies of a test."""

    def __init__(self, services: BrokerServices, registry: CapabilityRegistry) -> None:
        self._services = services
        self._registry = registry
        self.audit = services.audit
        self.policies: list[dict[str, Any]] = []

    def execution(self, *policies: Mapping[str, Any], **identity: Any) -> ExecutionBroker:
        """The broker of a new execution."""
        execution_id = new_id()
        grant = self._registry.inject("caps", execution_id, list(policies or self.policies))
        who = Identity(**identity)
        with self._services.tracing.execution(execution_id, "test", "0" * 64, who) as span:
            broker = ExecutionBroker(self._services, grant, who, span)
        broker.begin()
        return broker

    async def call(
        self, name: str, payload: Mapping[str, Any], broker: ExecutionBroker | None = None
    ) -> Any:
        """The answer of one call; raises what code would see."""
        request = CapabilityRequestMessage(
            id="1", timestamp=0.0, request_id=new_id(), capability=name, payload=dict(payload)
        )
        response = await (broker or self.execution()).answer(request)
        if response.failure is not None:
            failure = response.failure
            raise CALL_ERRORS[failure.code](failure.message, **failure.details)
        assert isinstance(response.result, msgspec.Raw)
        return msgspec.msgpack.decode(response.result)

    async def fetch(self, url: str, broker: ExecutionBroker | None = None, **more: Any) -> Any:
        return await self.call("web.fetch", {"url": url, **more}, broker)

    @property
    def decisions(self) -> list[DecisionMade]:
        return [each for each in self.events if isinstance(each, DecisionMade)]

    @property
    def outcomes(self) -> list[OutcomeRecorded]:
        return [each for each in self.events if isinstance(each, OutcomeRecorded)]

    @property
    def events(self) -> list[Any]:
        assert isinstance(self.audit, MemoryAuditLog)
        return list(self.audit.events)


def policy(port: int | None = None, *, secrets: Any = None, **web: Any) -> dict[str, Any]:
    """A policy that allows fetches of loopback at `port`, unless `web` says otherwise."""
    scope: dict[str, Any] = {"hosts": ["*"], "loopback": True, **web}
    if port is not None:
        scope["ports"] = [port, *web.get("ports", ())]
    found: dict[str, Any] = {"id": "test", "allow": ["web.fetch"], "scopes": {"web": scope}}
    if secrets is not None:
        found["allow"].append("secrets.handle")
        found["scopes"]["secrets"] = secrets
    return found


@asynccontextmanager
async def web_calls(
    *policies: Mapping[str, Any],
    resolver: Callable[[str, int], Sequence[str]] | None = None,
    tls: ssl.SSLContext | None = None,
    timeouts: Timeouts | None = None,
) -> AsyncIterator[WebCalls]:
    """Calls under `policies`. Nothing but the names, certificates and times may be replaced."""

    @asynccontextmanager
    async def given_tls() -> AsyncIterator[ssl.SSLContext]:
        assert tls is not None
        yield tls

    engine = Engine(
        resolver=Names() if resolver is None else resolver,
        tls=open_tls if tls is None else given_tls,
        timeouts=timeouts or Timeouts(first_byte=10.0),
    )
    registry = CapabilityRegistry()
    register_secrets(registry)
    register_web(registry, WebFetcher(engine))
    audit, metrics = MemoryAuditLog(), Metrics(CollectorRegistry())
    async with anyio.create_task_group() as tasks:
        resources = SharedResources(tasks)
        services = BrokerServices(
            audit=audit,
            metrics=metrics,
            tracing=Tracing(trace.NoOpTracerProvider()),
            default_timeout_ms=30_000,
            approvals=ApprovalQueue(audit, metrics, None),
            host=_Host(resources),
        )
        calls = WebCalls(services, registry)
        calls.policies = [dict(each) for each in policies]
        error = None
        try:
            yield calls
        except Exception as raised:  # not passed to the task group, which would wrap it
            error = raised
        finally:
            await resources.aclose(5)
    if error is not None:
        raise error
