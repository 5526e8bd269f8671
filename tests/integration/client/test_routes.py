"""Every route of the service has a method in both clients, and every method a route."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

from caps.client import AsyncClient, Client, routes
from caps.client.message import Route

# Routes without a method, each with its reason.
_SAME = "the same as `/v1/tools`, under the name that the specification has"
WITHOUT: dict[tuple[str, str], str] = {
    ("GET", "/api/tools"): _SAME,
    ("POST", "/api/tools"): _SAME,
}

MODULES: list[ModuleType] = [
    importlib.import_module(f"{routes.__name__}.{each.name}")
    for each in pkgutil.iter_modules(routes.__path__)
]


def test_every_route_of_the_description_is_known(client: Client) -> None:
    """And no route is known that the service does not have."""
    described = {
        (method.upper(), path)
        for path, operations in client.get_description()["paths"].items()
        for method in operations
    }
    known = {
        (value.method, value.template)
        for module in MODULES
        for value in vars(module).values()
        if isinstance(value, Route)
    }
    assert known == described - set(WITHOUT)


def test_both_clients_have_a_method_for_every_function() -> None:
    """With the same name and the same arguments."""
    for module in MODULES:
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ != module.__name__ or name.startswith(("_", "read_")):
                continue
            method = "events" if name == "event_feed" else name
            for kind in (Client, AsyncClient):
                found = getattr(kind, method)
                assert method == "events" or found.__wrapped__ is function
                assert found.__doc__
