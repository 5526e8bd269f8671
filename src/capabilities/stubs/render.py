"""The type stubs of a grant, as the text of a `.pyi` file for a prompt.

One class for each domain, one method for each granted capability with its types, its defaults and
the constraints of its schema in words; classes for the objects that are returned; the errors;
`caps` itself. It is valid Python whatever the schemas contain. It does not show the scopes and
limits of the policy.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from typing import Any

from caps.capabilities.chain import PolicyChain, chain_of
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.registration import RegisteredDomain
from caps.capabilities.spec import CapabilitySpec
from caps.capabilities.stubs.constraints import describe_constraints
from caps.capabilities.stubs.text import docstring, one_line
from caps.capabilities.stubs.types import SchemaTypes
from caps.protocol.errors import USER_ERRORS

_MAX_LINE = 100
_MAX_DEFAULT_CHARACTERS = 40
_TAKEN = frozenset(
    (
        "Any",
        "Caps",
        "Exception",
        "Literal",
        "Never",
        "NotRequired",
        "Record",
        "TimeoutError",
        "TypedDict",
    )
)
_DEFAULT_TYPES = {str: "str", int: "int", float: "float", bool: "bool", type(None): "None"}


def render(
    policies: BoundPolicy | PolicyChain,
    *,
    domains: Mapping[str, RegisteredDomain] | None = None,
    namespace: str = "caps",
) -> str:
    """The namespace that `policies` grant, as the text of a `.pyi` file."""
    chain = policies if isinstance(policies, PolicyChain) else chain_of(policies)
    by_domain: dict[str, list[CapabilitySpec]] = {}
    for name in chain.granted:
        spec = chain.terms[name].spec
        by_domain.setdefault(spec.domain, []).append(spec)
    class_names = _domain_classes(by_domain)
    errors = {error.__name__ for error in USER_ERRORS}
    results = [spec.schema_out for specs in by_domain.values() for spec in specs]
    types = SchemaTypes({*_TAKEN, *errors, *class_names.values(), namespace}, results)
    written = [
        _domain_text(class_names[domain], specs, (domains or {}).get(domain), types)
        for domain, specs in by_domain.items()
    ]
    root = [f"    {domain}: {name}" for domain, name in class_names.items()]
    blocks = [
        _header(chain.policy_ids, namespace, types, nothing=not by_domain),
        _errors_text(),
        *(["class Record(dict[str, Any]): ..."] if types.classes else []),
        *types.classes.values(),
        *written,
        "\n".join(["class Caps:", *(root or ["    pass"])]),
        f"{namespace}: Caps",
    ]
    return "\n\n".join(blocks) + "\n"


def _domain_classes(domains: Iterable[str]) -> dict[str, str]:
    """A class name for each domain; `web_api` and `webapi` get different names."""
    found: dict[str, str] = {}
    for domain in domains:
        base = name = "".join(part.capitalize() for part in domain.split("_"))
        number = 1
        while name in _TAKEN or keyword.iskeyword(name) or name in found.values():
            number += 1
            name = f"{base}{number}"
        found[domain] = name
    return found


def _header(policy_id: str, namespace: str, types: SchemaTypes, *, nothing: bool) -> str:
    names = sorted((types.imports | {"Any"}) - {"builtins"})
    modules = sorted(types.modules | (types.imports & {"builtins"}))
    lines = docstring(
        [
            f"What `{namespace}` holds under the policy `{one_line(policy_id)}`"
            + (": nothing." if nothing else "."),
            "",
            "Await every call; arguments go by name, or in the order of the parameters.\n"
            'An object that comes back is a read-only Record: r.name, r["name"], dict(r).\n'
            f"{namespace}.<domain>.<function>.options(timeout_ms=…, idempotency_key=…)(…) bounds a"
            " call, or makes a repeat of it harmless.\n"
            "The errors can be caught by these names; each has `code`, `message` and `details`.",
        ]
    )
    lines += ["", *(f"import {module}" for module in modules)]
    return "\n".join([*lines, f"from typing import {', '.join(names)}"])


def _errors_text() -> str:
    """The errors with those of their base classes that code can name."""
    lines = []
    for error in USER_ERRORS:
        base = next((one for one in error.__mro__[1:] if one in USER_ERRORS), Exception)
        also = ", TimeoutError" if issubclass(error, TimeoutError) else ""
        lines.append(f"class {error.__name__}({base.__name__}{also}): ...")
    return "\n".join(lines)


def _domain_text(
    name: str, specs: list[CapabilitySpec], domain: RegisteredDomain | None, types: SchemaTypes
) -> str:
    doc = docstring([domain.description or domain.title] if domain else [])
    lines = [f"class {name}:", *(f"    {line}" for line in doc)]
    with types.within(spec.function for spec in specs):
        for spec in specs:
            lines += [f"    {line}" if line else "" for line in _method(spec, types)]
    return "\n".join(lines)


def _method(spec: CapabilitySpec, types: SchemaTypes) -> list[str]:
    parameters = _parameters(spec, types)
    result = types.annotation(
        spec.schema_out, spec.schema_out, f"{spec.function}_result", is_result=True
    )
    parts = _description(spec)
    if result not in types.classes and (
        note := describe_constraints(spec.schema_out, spec.schema_out)
    ):
        parts.append(f"returns: {note}")  # a class has this in its own docstring
    doc = docstring(parts)
    lines = _signature(spec, parameters)
    if spec.streams:
        types.imports.add("AsyncIterator")
        result = f"AsyncIterator[{result}]"
    lines[-1] += f" -> {result}:" + ("" if doc else " ...")
    return [*lines, *(f"    {line}" if line else "" for line in doc)]


def _parameters(spec: CapabilitySpec, types: SchemaTypes) -> list[str]:
    """`self` and the parameters; keyword-only if Python does not allow their order."""
    schema = spec.schema_in or {"additionalProperties": False}
    properties: dict[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    by_name = {name: inner for name, inner in properties.items() if _can_be_argument(name)}
    odd = len(by_name) < len(properties)
    parameters = [
        _parameter(name, inner, schema, types, spec.function, needed=name in required)
        for name, inner in by_name.items()
    ]
    if by_name and (odd or _optional_first(by_name, required)):
        parameters.insert(0, "*")
    if odd or schema.get("additionalProperties", True) is not False:
        types.imports.add("Any")
        parameters.append(f"**{_unused_name('others', by_name)}: Any")
    return [_unused_name("self", by_name), *parameters]


def _signature(spec: CapabilitySpec, parameters: list[str]) -> list[str]:
    # Without `async`, as a type checker wants a stub of an async generator.
    start = f"{'' if spec.streams else 'async '}def {spec.function}("
    line = f"{start}{', '.join(parameters)})"
    if len(line) <= _MAX_LINE:
        return [line]
    return [start, *(f"    {one}," for one in parameters), ")"]


def _parameter(
    name: str,
    schema: Any,
    root: Mapping[str, Any],
    types: SchemaTypes,
    function: str,
    *,
    needed: bool,
) -> str:
    annotation = types.annotation(schema, root, f"{function}_{name}", is_result=False)
    if needed:
        return f"{name}: {annotation}"
    return f"{name}: {annotation} = {_default(schema, annotation)}"


def _default(schema: Any, annotation: str) -> str:
    """The default as Python code, if it is short and of the annotated type; else `...`."""
    if not isinstance(schema, dict) or "default" not in schema:
        return "..."
    default = schema["default"]
    kind = _DEFAULT_TYPES.get(type(default))
    is_literal = f"Literal[{default!r}" in annotation or f", {default!r}" in annotation
    fits = kind in annotation.split(" | ") or is_literal
    shown = repr(default)
    return shown if kind and fits and len(shown) <= _MAX_DEFAULT_CHARACTERS else "..."


def _description(spec: CapabilitySpec) -> list[str]:
    """What the capability does, and the constraints of each argument beyond its type."""
    parts = [spec.description or spec.title]
    for name, inner in spec.schema_in.get("properties", {}).items():
        note = describe_constraints(inner, spec.schema_in)
        if not _can_be_argument(name):
            note = "; ".join(part for part in (f"pass as **{{{name!r}: …}}", note) if part)
        if note:
            parts.append(f"{one_line(name)}: {note}")
    if spec.raises:
        names = ", ".join(one_line(name) for name in spec.raises)
        parts.append(f"raises: ProviderError, whose `error` is one of {names}")
    return parts


def _unused_name(name: str, others: Iterable[str]) -> str:
    while name in others:
        name = f"_{name}"
    return name


def _can_be_argument(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def _optional_first(names: Iterable[str], required: set[str]) -> bool:
    optional_seen = False
    for name in names:
        if name in required and optional_seen:
            return True
        optional_seen = optional_seen or name not in required
    return False
