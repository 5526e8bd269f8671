"""Functions of the embedding program that code in the sandbox may call: `host.call`.

A framework brings tools of its own, which live in its process. Code reaches them as it reaches
everything else: through the broker, if the policy allows `host.call`, with a record for each call.

    registry = builtin_registry()
    host = HostFunctions(registry)
    async with Runtime({"allow": ["host.call"]}, registry=registry) as runtime: ...

What is offered belongs to one session and ends with it.
"""

from __future__ import annotations

import functools
import inspect
import keyword
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Final

from pydantic import Field

from caps.capabilities.provider import CallContext, ProviderError
from caps.capabilities.registry import CapabilityRegistry
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import did_you_mean

DOMAIN: Final = "host"
_TAKEN: Final = frozenset({"caps", "asyncio"})

Functions = Mapping[str, Callable[..., Any]]

_ASYNC = """\
async def {name}(*args, **kwargs):
    return await caps.{domain}.call(function={name!r}, args=list(args), kwargs=kwargs)
"""
_SYNC = """\
def {name}(*args, **kwargs):
    import asyncio
    async def call():
        return await caps.{domain}.call(function={name!r}, args=list(args), kwargs=kwargs)
    return asyncio.run(call())
"""


class HostFunctions:
    """Adds `host.call` to a registry, before a runtime opens with it."""

    def __init__(
        self,
        registry: CapabilityRegistry,
        *,
        domain: str = DOMAIN,
        raises: tuple[type[Exception], ...] = (),
        labels: tuple[str, ...] = (),
        egress: bool = True,
    ) -> None:
        """`raises` are errors whose text the code may see; that of all others stays on the host.

        Unless you know that the functions send nothing out, leave `egress`: flow rules ask for it.
        """
        self.domain = domain
        self._raises = raises
        self._offered: dict[str, dict[str, Callable[..., Any]]] = {}
        registry.domain(
            domain, scope=None, title="Host", description="Functions of the embedding program."
        )
        registry.capability(
            f"{domain}.call",
            title="Call a function of the embedding program",
            shown=("function",),
            labels=labels,
            egress=egress,
            inline=False,
        )(self._call)

    @contextmanager
    def offered(self, session: str, functions: Functions) -> Iterator[None]:
        """Offer them to the session with this id. Raises ConfigurationError for a bad name."""
        for name in functions:
            check_name(name)
        self._offered[session] = dict(functions)
        try:
            yield
        finally:
            del self._offered[session]

    def definitions(self, names: Collection[str], *, awaited: bool = True) -> str:
        """The code that defines the names, to be run before the code that uses them."""
        template = _ASYNC if awaited else _SYNC
        return "\n".join(template.format(name=name, domain=self.domain) for name in names)

    async def _call(
        self,
        context: CallContext,
        function: Annotated[str, Field(max_length=256)],
        args: Annotated[list[Any], Field(max_length=256)],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call a function that the program offers to this session."""
        offered = self._offered.get(context.session or "", {})
        found = offered.get(function)
        if found is None:
            hint = did_you_mean(function, offered)
            raise ProviderError(f"there is no such function{hint}")
        called = functools.partial(found, *args, **kwargs)
        try:
            if inspect.iscoroutinefunction(found):
                return await called()
            # It may block, and nobody else should wait for it.
            answer = await context.run_in_thread(called)
            return await answer if inspect.isawaitable(answer) else answer
        except self._raises as error:
            raise ProviderError(str(error), error=type(error).__name__) from error


def check_name(name: str) -> None:
    """Raise ConfigurationError unless code can define `name`."""
    fits = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")
    if not fits or name in _TAKEN:
        raise ConfigurationError(f"`{name:.80}` cannot be the name of a function in the sandbox")
