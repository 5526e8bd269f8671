"""The OpenAPI document: FastAPI's, with sign-in, and every problem that a route can answer.

Statuses that follow from what a route is (it has a body, a role, a path with an id) are added to
all; the others are declared at the route, with `needs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from caps.service.description.shapes import SHAPES
from caps.service.secured_route import ROLE, problem_answer
from caps.service.signin.roles import Role


def described(app: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        components = document.setdefault("components", {})
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
        }
        components.setdefault("schemas", {}).update(SHAPES)
        for operations in document["paths"].values():
            for operation in operations.values():
                _describe(operation)
        app.openapi_schema = document
    return app.openapi_schema


def _describe(operation: dict[str, Any]) -> None:
    if operation[ROLE] != Role.PUBLIC.word:
        operation["security"] = [{"bearer": []}]
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])
    responses = operation["responses"]
    responses.pop("422", None)  # FastAPI's, which is not a problem
    for status in _statuses(operation):
        responses.setdefault(status, problem_answer(status))


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there or not; only in Python it is None then."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return {**{name: value for name, value in schema.items() if name != "anyOf"}, **kinds[0]}


def _statuses(operation: dict[str, Any]) -> Iterator[str]:
    parameters = operation.get("parameters", ())
    names = {each["name"] for each in parameters}
    if operation[ROLE] != Role.PUBLIC.word:
        yield from ("401", "403", "429")
    if "requestBody" in operation:
        yield from ("400", "422")
    if parameters:
        yield "422"
    if any(each["in"] == "path" for each in parameters):
        yield "404"
    if "If-Match" in names:
        yield "412"
    yield from ("413", "5XX")
