"""What a grant looks like as the text of a `.pyi` file: valid, typed, and all that was granted."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from caps import CapabilityRegistry, CapabilitySpec, MemoryAuditLog, Runtime, builtin_registry
from caps.capabilities.stubs.render import render

NASTY = 'ends with a "quote"\\ and """three\x00\r\u2028 \\N{DASH}"'


def stubs_of(registry: CapabilityRegistry, *allow: str) -> str:
    names = allow or tuple(spec.name for spec in registry)
    text = render(registry.bind({"allow": list(names)}), domains=registry.domains)
    ast.parse(text)
    return text


def stubs_for(
    schema_in: dict[str, Any] | None = None,
    schema_out: dict[str, Any] | None = None,
    name: str = "store.get",
    **fields: Any,
) -> str:
    registry = CapabilityRegistry()
    spec = CapabilitySpec(
        name=name, schema_in=schema_in or {}, schema_out=schema_out or {}, **fields
    )
    registry.register(spec, lambda _context, _payload: None)
    return stubs_of(registry)


def result_type(schema: dict[str, Any]) -> str:
    """What a capability with this answer is annotated to return."""
    tree = ast.parse(stubs_for(schema_out=schema))
    (method,) = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]
    assert method.returns is not None
    return ast.unparse(method.returns)


def signature(schema: dict[str, Any]) -> str:
    """The parameters of a capability that takes this."""
    tree = ast.parse(stubs_for(schema_in={"additionalProperties": False, **schema}))
    (method,) = [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]
    return ast.unparse(method.args)


def documented(text: str, name: str) -> str:
    """The docstring of a class or function in the stubs."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.ClassDef, ast.AsyncFunctionDef)) and node.name == name:
            return ast.get_docstring(node, clean=False) or ""
    raise AssertionError(f"no {name}")


class TestGrant:
    def test_only_what_is_granted_is_there(self) -> None:
        """A capability that the policy withholds is not hinted at."""
        text = stubs_of(builtin_registry(), "math.add", "time.now")
        assert "async def add(self, a: int | float, b: int | float) -> Result:" in text
        assert "math: Math" in text
        for absent in ("divide", "files", "Files", "FileContent"):
            assert absent not in text

    def test_nothing_granted_is_said(self) -> None:
        """An empty namespace is a class without members."""
        text = render(builtin_registry().bind({"allow": []}))
        ast.parse(text)
        assert ": nothing." in text
        assert text.endswith("class Caps:\n    pass\n\ncaps: Caps\n")

    def test_the_text_is_the_same_every_time(self) -> None:
        """A prompt can be cached."""
        assert stubs_of(builtin_registry(), "math.*", "time.*") == stubs_of(
            builtin_registry(), "time.*", "math.*"
        )

    def test_nothing_of_the_scope_is_shown(self, tmp_path: Path) -> None:
        """The code does not learn where files are on the host."""
        registry = builtin_registry()
        policy = {"allow": ["files.*"], "scopes": {"files": {"allowlist": [str(tmp_path)]}}}
        assert str(tmp_path) not in render(registry.bind(policy), domains=registry.domains)

    @pytest.mark.process
    def test_the_runtime_renders_its_own_policy_and_others(self) -> None:
        """Open or not, under its own namespace."""
        runtime = Runtime(
            {"allow": ["math.add"]},
            registry=builtin_registry(),
            namespace="tools",
            audit=MemoryAuditLog(),
        )
        closed = runtime.stubs()
        with runtime:
            assert runtime.stubs() == closed == runtime.stubs(runtime.policy)
        assert closed.endswith("\n\ntools: Caps\n")
        assert "def divide" in runtime.stubs({"allow": ["math.*"]}, replace=True)
        assert "def divide" not in runtime.stubs({"allow": ["math.*"]})

    def test_builtin_stubs_are_short_enough_for_a_prompt(self) -> None:
        """Fourteen functions take about as much room as this file's first screens."""
        registry = builtin_registry()
        policy = {
            "allow": ["files.*", "math.*", "time.*"],
            "scopes": {"files": {"allowlist": ["."]}},
        }
        text = render(registry.bind(policy), domains=registry.domains)
        assert len(text) < 9000


@pytest.mark.parametrize(
    ("schema", "annotation"),
    [
        ({}, "Any"),
        ({"type": "string"}, "str"),
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": "null"}, "None"),
        ({"type": ["null", "string"]}, "str | None"),
        ({"type": "string", "nullable": True}, "str | None"),
        ({"type": "array"}, "list[Any]"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
         "list[list[int]]"),
        ({"items": {"type": "string"}}, "list[str]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"type": "object", "additionalProperties": False}, "dict[str, Any]"),
        ({"enum": ["a", 1, True, None]}, "Literal['a', 1, True] | None"),
        ({"const": "x"}, "Literal['x']"),
        ({"enum": [1.5, "a"]}, "float | str"),
        ({"enum": [[1]]}, "Any"),
        ({"enum": list(range(100))}, "int"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}, {"type": "integer"}]}, "int | None"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "str | int"),
        ({"anyOf": [{"type": "string"}, {}]}, "Any"),
        ({"$ref": "#/$defs/Size", "$defs": {"Size": {"type": "integer"}}}, "int"),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"enum": ["x"]}}}, "Literal['x']"),
        ({"$ref": "#/$defs/Tree",
          "$defs": {"Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}, "list[Any]"),
        ({"type": "object", "properties": {"a": True}}, "GetResult"),
        ({"type": "object", "title": "a thing", "properties": {"a": True}}, "AThing"),
        ({"type": "object", "title": "Record", "properties": {"a": True}}, "Record2"),
        ({"type": "object", "title": "9", "properties": {"a": True}}, "Object9"),
    ],
    ids=str,
)  # fmt: skip
def test_a_schema_becomes_a_type(schema: dict[str, Any], annotation: str) -> None:
    """What Python's types cannot say is `Any`, never something else."""
    assert result_type(schema) == annotation


@pytest.mark.parametrize(
    ("schema", "parameters"),
    [
        ({}, "self"),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"]}, "self, a: str"),
        ({"properties": {"a": {"type": "integer", "default": 3}}}, "self, a: int=3"),
        ({"properties": {"a": {"type": "integer"}}}, "self, a: int=..."),
        ({"properties": {"a": {"type": "string", "default": None}}}, "self, a: str=..."),
        ({"properties": {"a": {"type": "string", "default": "x" * 99}}}, "self, a: str=..."),
        ({"properties": {"a": {"enum": ["x", "y"], "default": "y"}}},
         "self, a: Literal['x', 'y']='y'"),
        ({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]},
         "self, *, a: str=..., b: str"),
        ({"properties": {"self": {}, "others": {}, "x-y": {}}},
         "_self, *, self: Any=..., others: Any=..., **_others: Any"),
        ({"properties": {"from": {"type": "string"}}}, "self, **others: Any"),
        ({"properties": {"__x": {"type": "string"}}}, "self, **others: Any"),
        ({"properties": {"a": True}, "additionalProperties": True},
         "self, a: Any=..., **others: Any"),
    ],
    ids=str,
)  # fmt: skip
def test_a_payload_becomes_parameters(schema: dict[str, Any], parameters: str) -> None:
    """In the order of the schema where Python has such an order, by name only where it has not."""
    assert signature(schema) == parameters


class TestText:
    def test_constraints_are_told_in_words(self) -> None:
        """A type does not say how long a string may be."""
        schema = {
            "properties": {
                "name": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 9,
                    "pattern": r"^\d+$",
                    "description": "its\nname",
                },
                "size": {"type": "integer", "minimum": 1, "exclusiveMaximum": 5},
                "maybe": {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]},
                "zone": {"enum": [f"zone-{n}" for n in range(99)]},
                "plain": {"type": "string"},
            }
        }
        told = documented(stubs_for(schema, description="Does it."), "get")
        assert [line.strip() for line in told.strip().split("\n")] == [
            "Does it.",
            r"name: its name; at least 1 characters; at most 9 characters; matches `^\d+$`",
            "size: at least 1; less than 5",
            "maybe: at most 2 characters",
            "zone: one of 99, such as 'zone-0', 'zone-1', 'zone-2'",
        ]

    def test_any_text_stays_text(self) -> None:
        """Quotes, backslashes and line ends do not end a docstring."""
        text = stubs_for(
            {"properties": {"a": {"description": NASTY}}},
            {"title": NASTY, "description": NASTY, "type": "object",
             "properties": {"b": {"description": NASTY}, NASTY: {"description": "type: int"}}},
            description=NASTY,
        )  # fmt: skip
        text.encode()
        shown = 'ends with a "quote"\\ and """three\\x00\\r\\u2028 \\N{DASH}"'
        assert documented(text, "get").startswith(shown)

    def test_a_name_that_is_no_attribute_is_shown_as_an_item(self) -> None:
        """`r.items` is a method of every record, and `r.class` is not valid Python."""
        fields = {"items": {"type": "array"}, "class": {}, "str": {}, "id": {"type": "string"}}
        text = stubs_for(schema_out={"properties": fields, "required": ["id"]})
        assert "    # r['items']: list[Any]  # may be missing\n" in text
        assert "    # r['class']: Any" in text
        assert "    # r['str']: Any" in text
        assert "    id: str\n" in text

    def test_an_object_that_is_passed_is_a_typed_dict(self) -> None:
        """Written as a class, or as a call if a key is not an identifier."""
        inner = {"type": "object", "title": "Query", "required": ["text"],
                 "properties": {"text": {"type": "string"}, "limit": {"type": "integer"}},
                 }  # fmt: skip
        text = stubs_for({"properties": {"query": inner}})
        assert "class Query(TypedDict):\n    text: str\n    limit: NotRequired[int]\n" in text
        inner["properties"] = {"text": {"type": "string"}, "a-b": {"type": "integer"}}
        text = stubs_for({"properties": {"query": inner}})
        assert "Query = TypedDict('Query', {\n    'text': str,\n" in text
        assert "    'a-b': NotRequired[int],\n})" in text

    def test_equal_objects_share_a_class_and_others_do_not(self) -> None:
        """Two capabilities of one author answer with one class."""
        registry = CapabilityRegistry()
        for name, kind in (("a.one", "string"), ("a.two", "string"), ("b.three", "integer")):
            answer = {"title": "Answer", "properties": {"value": {"type": kind}}}
            spec = CapabilitySpec(name=name, schema_out=answer)
            registry.register(spec, lambda _context, _payload: None)
        text = stubs_of(registry)
        assert text.count("class Answer(Record)") == text.count("class Answer2(Record)") == 1
        assert "async def two(self) -> Answer: ..." in text
        assert "async def three(self) -> Answer2: ..." in text


class Part(BaseModel):
    """One part of a whole."""

    name: str
    parts: list[Part] = []


class Filter(BaseModel):
    word: Annotated[str, Field(max_length=9)]
    limit: int = 3


def awkward_registry() -> CapabilityRegistry:
    """Names and types that get in each other's way."""
    registry = CapabilityRegistry()

    @registry.capability("store.list")
    async def listed(str: int = 3, filter: Filter | None = None) -> list[str]:  # noqa: A002
        """All names."""
        return []

    @registry.capability("store.dict")
    async def mapped(mode: Literal["a", "b"] = "b", when: float | None = None) -> dict[str, Part]:
        return {}

    @registry.capability("record.caps")
    async def part(name: str) -> Part | None:
        return None

    fields: Mapping[str, Any] = {"Text": {}, "text": {"$ref": "#/$defs/Text"}, "list": {}}
    spec = CapabilitySpec(
        name="web_api.str",
        schema_in={"properties": {"from": {"type": "string"}, "to": {"type": "string"}}},
        schema_out={
            "title": "Record",
            "properties": dict(fields),
            "$defs": {"Text": {"properties": {"Text": {"type": "string"}}}},
        },
    )
    registry.register(spec, lambda _context, _payload: None)
    registry.domain("webapi")
    registry.register(
        CapabilitySpec(name="webapi.get", description=NASTY), lambda _context, _payload: None
    )
    return registry


GOOD = """
from stubs import Part, caps

async def use() -> None:
    names: list[str] = await caps.store.list(3, {"word": "x"})
    parts: dict[str, Part] = await caps.store.dict(mode="a")
    part = await caps.record.caps(name="x")
    if part is not None:
        print(part.name.upper(), part["name"], part.parts[0].parts, dict(part), names, parts)
    print(await caps.web_api.str(to="x", **{"from": "y"}))
"""
BAD = """
from stubs import caps

async def use() -> None:
    await caps.store.list("3")
    await caps.store.dict(mode="c")
    await caps.record.caps()
    await caps.record.cups(name="x")
"""


@pytest.mark.process
def test_a_type_checker_takes_the_stubs_and_finds_what_is_wrong_with_code(tmp_path: Path) -> None:
    """The strictest checks pass; calls that do not fit are errors, each on its line."""
    (tmp_path / "stubs.pyi").write_text(stubs_of(awkward_registry()))
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-incremental"]
    done = subprocess.run(
        [*command, "stubs.pyi", "good.py", "bad.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [line.partition(": error:")[0] for line in done.stdout.splitlines() if "error:" in line]
    assert found == [f"bad.py:{line}" for line in (5, 6, 7, 8)], done.stdout
