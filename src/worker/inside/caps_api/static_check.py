"""(4) Calls of capabilities, held against the manifest before the first line runs, if asked for.

Runs in the worker, after confinement: untrusted source is parsed nowhere else. It is a courtesy
like the payload check, whose rules it shares; the broker checks every call all the same. It says
only what is certain: a call that it can follow to `caps.<domain>.<function>` and that cannot
succeed. So it is silent

- wherever the name `caps` is bound to something else, and about names that are bound twice;
- about arguments that are no literals, or that come as `*args` and `**kwargs`;
- about names that the code itself asks for (`hasattr`, `getattr`, `dir`), and about failures that
  it is ready for: an `except` around the call, or anywhere if the call is in a function, that names
  the error. A bare `except`, or one of every `Exception`, is no such thing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from caps.protocol.errors import USER_ERRORS
from caps.protocol.messages import ManifestEntry, ManifestMessage
from caps.worker.inside.caps_api.static_arguments import argument_problems
from caps.worker.inside.caps_api.static_bindings import Bindings, Path
from caps.worker.inside.language.compiler import Program, parse_source, source_error
from caps.worker.inside.caps_api.namespace import OPTIONS_SCHEMA, closed, missing
from caps.worker.inside.language.transformer import Refusal

_MOST_PROBLEMS = 64
_LONGEST_NAME = 64
_LONGEST_MESSAGE = 400
_ERROR_NAMES = frozenset(error.__name__ for error in USER_ERRORS)
_OPTIONS = {**OPTIONS_SCHEMA, "additionalProperties": False}

_PROBES = frozenset(("hasattr", "getattr", "dir"))
_OF_NAMES = frozenset(
    ("CapabilityMissingError", "PolicyDeniedError", "CapsError", "AttributeError", "ImportError")
)
_OF_ARGUMENTS = frozenset(("ValidationError", "CapsError", "TypeError"))


def check_calls(source: str, program: Program, manifest: ManifestMessage) -> None:
    """A SourceError of the kind `checked` if calls in `source` are certain to fail."""
    tree = parse_source(source, program.filename)
    bindings = Bindings(tree, manifest.namespace)
    if bindings.shadowed:
        return
    checker = _Checker(manifest, bindings)
    checker.walk(tree)
    if checker.problems:
        raise source_error(checker.problems, program.lines, kind="checked")


class _Checker:
    """Walks the source once; the errors that it is ready for go along."""

    def __init__(self, manifest: ManifestMessage, bindings: Bindings) -> None:
        self._manifest = manifest
        self._bindings = bindings
        self._granted: dict[str, dict[str, ManifestEntry]] = {}
        for entry in manifest.capabilities:
            domain, _, function = entry.name.partition(".")
            self._granted.setdefault(domain, {})[function] = entry
        self.problems: list[Refusal] = []

    def walk(self, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        everywhere = frozenset(name for node in nodes for name in _caught_by(node))
        asked_for = any(self._probes(node) for node in nodes)
        judged: set[int] = set()  # attributes that are a part of a longer one
        waiting: list[tuple[ast.AST, frozenset[str]]] = [
            (tree, _OF_NAMES if asked_for else frozenset())
        ]
        while waiting and len(self.problems) < _MOST_PROBLEMS:
            node, ready = waiting.pop()
            if id(node) not in judged:
                self._judge(node, ready)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
                judged.add(id(node.value))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                ready |= everywhere
            waiting += [(child, ready | caught) for child, caught in _children(node)]

    def _probes(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _PROBES
            and any(self._bindings.path(argument) is not None for argument in node.args[:1])
        )

    def _judge(self, node: ast.AST, ready: frozenset[str]) -> None:
        match node:
            case ast.Attribute(ctx=ast.Load()) if not ready & _OF_NAMES:
                start = self._bindings.start(node)
                # What an alias stands for is judged where it is made, once.
                if start is not None and not self._absent(start):
                    self._judge_name(node, self._bindings.path(node))
            case ast.ImportFrom(names=names, level=0) if not ready & _OF_NAMES:
                for one in names if node.module == self._manifest.namespace else ():
                    self._judge_name(one, (one.name,))
            case ast.Call() if not ready & _OF_ARGUMENTS:
                self._judge_call(node)
            case ast.Expr(value=ast.Call() as call):
                path = self._bindings.path(call.func)
                if path is not None and len(path) == 2 and self._entry(path) is not None:
                    self._say(call, f"{self._shown(path)} is never awaited; write `await`")

    def _judge_name(self, node: ast.AST, path: Path | None) -> None:
        """A domain or a capability that is not granted."""
        if path is None or not self._absent(path):
            return
        domain, full = path[0], ".".join(path[:2])
        functions = self._granted.get(domain)
        if functions is not None:
            wanted, listed = path[1], {name: entry.name for name, entry in functions.items()}
        elif len(path) > 1:
            wanted, listed = full, {entry.name: entry.name for entry in self._manifest.capabilities}
        else:
            wanted, listed = domain, {name: name for name in self._granted}
        error = missing(
            full[: 2 * _LONGEST_NAME], self._manifest.policy_id, wanted[:_LONGEST_NAME], listed
        )
        self._say(node, error.message)

    def _absent(self, path: Path) -> bool:
        """Whether touching `path` is certain to fail."""
        if not path or path[0] in _ERROR_NAMES or any(part.startswith("_") for part in path[:2]):
            return False
        functions = self._granted.get(path[0])
        return functions is None or (len(path) > 1 and path[1] not in functions)

    def _entry(self, path: Path) -> ManifestEntry | None:
        return self._granted.get(path[0], {}).get(path[1])

    def _judge_call(self, node: ast.Call) -> None:
        path = self._bindings.path(node.func)
        entry = self._entry(path) if path is not None and len(path) > 1 else None
        if path is None or entry is None or path[2:] not in ((), ("options",)):
            return
        direct = len(path) == 2
        schema = closed(entry.schema()) if direct else _OPTIONS
        for place, message in argument_problems(node, schema, by_position=direct):
            self._say(place, f"{self._shown(path)} {message}")

    def _shown(self, path: Path) -> str:
        return f"`{'.'.join((self._manifest.namespace, *path))}`"

    def _say(self, node: ast.AST, message: str) -> None:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        same_line = getattr(node, "end_lineno", line) == line
        end = getattr(node, "end_col_offset", None) if same_line else None
        self.problems.append(Refusal(message[:_LONGEST_MESSAGE], line, column, end))


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """What `node` holds, each with the errors that `node` catches there."""
    caught = frozenset[str]()
    if isinstance(node, (ast.Try, ast.TryStar)):
        caught = frozenset(name for handler in node.handlers for name in _caught_by(handler))
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        caught = frozenset(name for item in node.items for name in _caught_by(item.context_expr))
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue  # need not be evaluated
        inside = caught if field == "body" else frozenset[str]()
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST):
                yield child, inside


def _caught_by(node: ast.AST) -> Iterator[str]:
    """The errors that an `except`, or a `suppress`, names."""
    match node:
        case ast.ExceptHandler(type=ast.Tuple(elts=kinds)):
            yield from _last_names(kinds)
        case ast.ExceptHandler(type=ast.expr() as kind):
            yield from _last_names([kind])
        case ast.Call(func=function, args=kinds) if "suppress" in _last_names([function]):
            yield from _last_names(kinds)


def _last_names(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
