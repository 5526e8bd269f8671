"""Calls of capabilities that cannot succeed are reported before the first line runs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from caps.protocol.messages import ManifestEntry, ManifestMessage
from caps.worker.inside.caps_api.static_check import check_calls
from caps.worker.inside.language.compiler import SourceError, compile_source

READ = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "maxLength": 20},
        "mode": {"enum": ["text", "bytes"]},
        "limits": {"type": "object", "properties": {"bytes": {"$ref": "#/$defs/size"}}},
        "parts": {"type": "array", "items": {"type": "integer", "minimum": 0}},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"size": {"type": "integer", "maximum": 10}},
}
MANIFEST = ManifestMessage(
    id="h1",
    timestamp=1.0,
    execution_id="e",
    namespace="caps",
    policy_id="reader",
    capabilities=[
        ManifestEntry.of(name="files.read", schema_in=READ),
        ManifestEntry.of(name="files.list", schema_in={}),
        ManifestEntry.of(name="open.any", schema_in={"properties": {"a": {}}}),
    ],
)


def problems(source: str, manifest: ManifestMessage = MANIFEST) -> list[tuple[int, int, str]]:
    """Line, column and message of everything that the check finds."""
    program = compile_source(source)
    try:
        check_calls(source, program, manifest)
    except SourceError as error:
        found = error
    else:
        return []
    assert (found.code, found.kind) == ("source_error", "checked")
    return [(one["line"], one["column"], one["message"]) for one in found.problems]


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("await caps.files.read()", 6, "`caps.files.read` lacks `path`"),
        ("await caps.files.read(pth='x', path='x')", 26,
         "`caps.files.read` has no argument `pth`; did you mean `path`?"),
        ("await caps.files.list(deep=True)", 27,
         "`caps.files.list` has no argument `deep`; it takes none"),
        ("await caps.files.list(1)", 22,
         "`caps.files.list` takes no positional arguments, 1 given"),
        ("await caps.files.read('a', 'text', {}, [], 5)", 43,
         "`caps.files.read` takes at most 4 positional arguments, 5 given"),
        ("await caps.files.read('a', path='b')", 27,
         "`caps.files.read` got two values for `path`"),
        ("await caps.files.read(path=5)", 27,
         "`caps.files.read` with `path`: expected type string, got 5"),
        ("await caps.files.read(-5)", 22,
         "`caps.files.read` with `path`: expected type string, got -5"),
        ("await caps.files.read(b'x')", 22,
         "`caps.files.read` with `path`: expected type string, got b'x'"),
        ("await caps.files.read('')", 22,
         "`caps.files.read` with `path`: expected minLength 1, got ''"),
        ("await caps.files.read('é', mode='binary')", 32,
         "`caps.files.read` with `mode`: expected one of ['text', 'bytes'], got 'binary'"),
        ("await caps.files.read('a', limits={'bytes': 11})", 34,
         "`caps.files.read` with `limits.bytes`: expected maximum 10, got 11"),
        ("await caps.files.read('a', parts=[1, -1])", 33,
         "`caps.files.read` with `parts[1]`: expected minimum 0, got -1"),
        ("await caps.files.read(*[], path=1)", 32,
         "`caps.files.read` with `path`: expected type string, got 1"),
        ("await caps.files.read(**{}, paths=1)", 34,
         "`caps.files.read` has no argument `paths`; did you mean `path`?"),
        ("caps.files.read('a')", 0, "`caps.files.read` is never awaited; write `await`"),
        ("caps.files.read.options(timeout_ms=5)('a')", 0,
         "`caps.files.read` is never awaited; write `await`"),
        ("await caps.files.reed('a')", 6,
         "`files.reed` is not granted by policy `reader`; did you mean `files.read`?"),
        ("await caps.flies.read('a')", 6,
         "`flies.read` is not granted by policy `reader`; did you mean `files.read`?"),
        ("x = caps.web", 4, "`web` is not granted by policy `reader`; granted: files, open"),
        ("f = caps.files.write", 4,
         "`files.write` is not granted by policy `reader`; granted: files.list, files.read"),
        ("from caps import flies", 17,
         "`flies` is not granted by policy `reader`; did you mean `files`?"),
        ("await caps.files.read.options(timeout=5)('a')", 38,
         "`caps.files.read.options` has no argument `timeout`; did you mean `timeout_ms`?"),
        ("await caps.files.read.options(timeout_ms=0)('a')", 41,
         "`caps.files.read.options` with `timeout_ms`: expected minimum 1, got 0"),
        ("await caps.files.read.options(5)('a')", 30,
         "`caps.files.read.options` takes no positional arguments, 1 given"),
        ("await caps.files.read.options(timeout_ms=5)(pth='a', path='b')", 48,
         "`caps.files.read` has no argument `pth`; did you mean `path`?"),
    ],
)  # fmt: skip
def test_a_call_that_cannot_succeed_is_reported(source: str, column: int, message: str) -> None:
    """Where it is, what is wrong, and what was probably meant."""
    assert problems(source) == [(1, column, message)]


@pytest.mark.parametrize(
    "loop", ["for x in {}:\n    pass", "[x for x in {}]", "{{x: 1 for x in {}}}"]
)
def test_a_plain_loop_over_a_call_is_reported(loop: str) -> None:
    """It reads neither a stream nor what was not awaited; a program may be ready for the error."""
    stream = ManifestEntry.of(name="logs.tail", schema_in={}, streams=True)
    manifest = msgspec.structs.replace(MANIFEST, capabilities=[*MANIFEST.capabilities, stream])
    for call, message in (
        ("caps.logs.tail()", "`caps.logs.tail` is a stream; write `async for` instead of `for`"),
        ("caps.files.list()", "`caps.files.list` is not awaited; write `await` before it"),
    ):
        source = loop.format(call)
        assert [found for _, _, found in problems(source, manifest)] == [message]
        indented = source.replace("\n", "\n    ")
        assert problems(f"try:\n    {indented}\nexcept TypeError:\n    pass", manifest) == []
    assert problems("[x async for x in caps.logs.tail()]", manifest) == []
    assert problems("for x in await caps.files.list():\n    pass", manifest) == []


@pytest.mark.parametrize(
    "way",
    [
        "import caps\nawait caps.files.read()",
        "import caps as c\nawait c.files.read()",
        "from caps import files\nawait files.read()",
        "from caps import files as f\nawait f.read()",
        "files = caps.files\nawait files.read()",
        "f: object = caps.files\nread = f.read\nawait read()",
        "await (f := caps.files).read()\nawait f.read()",
        "async def g(n):\n    return [await caps.files.read() for _ in n]",
        "class A:\n    async def m(self):\n        return await caps.files.read()",
        "from asyncio import gather\nawait gather(caps.files.read(), caps.files.list())",
        "try:\n    await caps.files.read()\nexcept Exception:\n    pass",
        "try:\n    pass\nexcept ValidationError:\n    await caps.files.read()",
    ],
)
def test_calls_are_followed_through_imports_and_aliases(way: str) -> None:
    """Whatever the name and the scope, the call is the same."""
    assert "`caps.files.read` lacks `path`" in {message for _, _, message in problems(way)}


@pytest.mark.parametrize(
    "source",
    [
        "await caps.files.read('a', mode='text', limits={'bytes': 3}, parts=[1])",
        "await caps.files.read.options(timeout_ms=5, idempotency_key='k')(path='a')",
        "await caps.open.any(a=1, b=2)",
        "await caps.open.any()",
        "x = 5\nawait caps.files.read(x)",
        "await caps.files.read(f'{1}')",
        "await caps.files.read('a', parts=[x for x in 'ab'])",
        "a = {'path': 'x'}\nawait caps.files.read(**a)",
        "a = ['x']\nawait caps.files.read(*a)",
        "a = ['x']\nawait caps.files.read(*a, mode='text')",
        "call = caps.files.read('a')\nawait call",
        "except_ = caps.PolicyDeniedError",
        "print(caps, caps.files, caps.files.read)",
        "caps.files.read.__doc__",
        # another `caps`
        "caps = object()\ncaps.flies.read()",
        "def f(caps):\n    return caps.flies.read()",
        "for caps in []:\n    caps.nothing()",
        "import math as caps\ncaps.sqrt(4)",
        "[caps.x for caps in []]",
        "match 1:\n    case caps:\n        caps.x",
        "def caps():\n    pass\ncaps.x = 1\ncaps.x",
        # a name that is bound twice
        "files = caps.files\nfiles = []\nfiles.append(1)",
        "from caps import files\ndef f(files):\n    files.pop()",
        "f = caps.files if 1 else None\nf.nothing()",
        # the code asks, or is ready
        "if hasattr(caps.files, 'write'):\n    await caps.files.write(path='x')",
        "w = getattr(caps, 'web', None)\nif w:\n    await caps.web.fetch()",
        "if 'web' in dir(caps):\n    await caps.web.fetch()",
        "try:\n    await caps.web.fetch()\nexcept PolicyDeniedError:\n    pass",
        "try:\n    await caps.web.fetch()\nexcept CapabilityMissingError:\n    pass",
        "try:\n    await caps.web.fetch()\nexcept (OSError, caps.PolicyDeniedError):\n    pass",
        "try:\n    from caps import web\nexcept ImportError:\n    web = None",
        "try:\n    await caps.files.read(path=5)\nexcept ValidationError as e:\n    print(e)",
        "try:\n    await caps.files.read()\nexcept* TypeError:\n    pass",
        "async def f():\n    return await caps.web.fetch()\n"
        "try:\n    await f()\nexcept AttributeError:\n    pass",
        "from contextlib import suppress\nwith suppress(CapsError):\n    await caps.web.fetch()",
        "from __future__ import annotations\ndef f(x: caps.Thing) -> caps.Other: ...",
    ],
)
def test_what_is_not_certain_is_not_told(source: str) -> None:
    """A false alarm would stop code that runs well."""
    assert problems(source) == []


def test_all_problems_are_reported_together_in_order() -> None:
    """One round is enough to correct them."""
    source = (
        "x = await caps.flies.read('a')\n"
        "files = caps.fils\n"
        "y = await files.read('a')\n"
        "z = 'é'; w = await caps.files.read(pth=1)\n"
    )
    assert [(line, column) for line, column, _ in problems(source)] == [
        (1, 10),
        (2, 8),
        (4, 19),
        (4, 39),
    ]


def test_problems_and_their_texts_are_bounded() -> None:
    """The code chooses how many there are, and what they are called."""
    long_name = "n" * 2000
    found = problems("\n".join(f"x = caps.{long_name}.{long_name}" for _ in range(40)))
    assert len(found) == 40
    assert all(len(message) <= 400 for _, _, message in found)
    assert len(problems("\n".join(["await caps.files.read()"] * 500))) == 64


def test_the_namespace_may_have_another_name() -> None:
    """What is checked is what the manifest names, under the name that it has."""
    fields: dict[str, Any] = {
        name: getattr(MANIFEST, name) for name in MANIFEST.__struct_fields__
    } | {"namespace": "tools"}
    tools = ManifestMessage(**fields)
    assert problems("caps = 1\nawait tools.files.read()", tools) == [
        (2, 6, "`tools.files.read` lacks `path`")
    ]
    assert problems("caps.flies", tools) == []
