"""(4) The static check: on request, checks capability calls against the manifest before the run.

Runs in the worker, after confinement: untrusted source is parsed nowhere else. Like the payload
check, whose rules it shares, it only helps user code; the broker checks every call anyway. It
reports only what is certain: a call that it can trace to `caps.<domain>.<function>` and that cannot
succeed. So it reports nothing

- wherever the name `caps` is bound to something else, and about names that are bound twice;
- about arguments that are not literals, or that are passed as `*args` and `**kwargs`;
- about names that the code itself tests for (`hasattr`, `getattr`, `dir`);
- about errors that the code handles: an `except` around the call (or anywhere, if the call is in a
  function) names the error. A bare `except` or an `except Exception` does not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from caps.protocol.errors import USER_ERRORS
from caps.protocol.messages import ManifestEntry, ManifestMessage
from caps.worker.inside.caps_api.namespace import OPTIONS_SCHEMA, make_missing_error, payload_schema
from caps.worker.inside.caps_api.static_arguments import argument_problems
from caps.worker.inside.caps_api.static_bindings import Bindings, Path
from caps.worker.inside.language.compiler import Program, parse_source, source_error
from caps.worker.inside.language.transformer import Refusal

_MAX_PROBLEMS = 64
_MAX_NAME_CHARACTERS = 64
_MAX_MESSAGE_CHARACTERS = 400
_ERROR_NAMES = frozenset(error.__name__ for error in USER_ERRORS)
_OPTIONS = {**OPTIONS_SCHEMA, "additionalProperties": False}

_PROBES = frozenset(("hasattr", "getattr", "dir"))
_NAME_ERRORS = frozenset(
    ("CapabilityMissingError", "PolicyDeniedError", "CapsError", "AttributeError", "ImportError")
)
_ARGUMENT_ERRORS = frozenset(("ValidationError", "CapsError", "TypeError"))


def check_calls(source: str, program: Program, manifest: ManifestMessage) -> None:
    """Raise a SourceError of the kind `checked` if calls in `source` are certain to fail."""
    tree = parse_source(source, program.filename)
    bindings = Bindings(tree, manifest.namespace)
    if bindings.shadowed:
        return
    checker = _Checker(manifest, bindings)
    checker.walk(tree)
    if checker.problems:
        raise source_error(checker.problems, program.lines, kind="checked")


class _Checker:
    """Walks the source once, and keeps for each node the errors that are caught there."""

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
        caught_anywhere = frozenset(name for node in nodes for name in _caught_by(node))
        is_probed = any(self._is_probe(node) for node in nodes)
        checked: set[int] = set()  # attributes that are part of a longer one
        pending: list[tuple[ast.AST, frozenset[str]]] = [
            (tree, _NAME_ERRORS if is_probed else frozenset())
        ]
        while pending and len(self.problems) < _MAX_PROBLEMS:
            node, caught = pending.pop()
            if id(node) not in checked:
                self._check(node, caught)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
                checked.add(id(node.value))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                caught |= caught_anywhere
            pending += [(child, caught | more) for child, more in _children(node)]

    def _is_probe(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _PROBES
            and any(self._bindings.path(argument) is not None for argument in node.args[:1])
        )

    def _check(self, node: ast.AST, caught: frozenset[str]) -> None:
        match node:
            case ast.Attribute(ctx=ast.Load()) if not caught & _NAME_ERRORS:
                root = self._bindings.root_path(node)
                # The value of an alias is checked once, where the alias is bound.
                if root is not None and not self._is_missing(root):
                    self._check_name(node, self._bindings.path(node))
            case ast.ImportFrom(names=names, level=0) if not caught & _NAME_ERRORS:
                for one in names if node.module == self._manifest.namespace else ():
                    self._check_name(one, (one.name,))
            case ast.Call() if not caught & _ARGUMENT_ERRORS:
                self._check_call(node)
            case ast.Expr(value=ast.Call() as call):
                self._check_use(
                    call, "is never read; write `async for`", "is never awaited; write `await`"
                )
            case ast.Await(value=ast.Call() as call):
                self._check_use(call, "is a stream; write `async for` instead of `await`", None)
            case (
                ast.For(iter=ast.Call() as call)
                | ast.comprehension(iter=ast.Call() as call, is_async=0)
            ) if not caught & _ARGUMENT_ERRORS:
                self._check_use(
                    call,
                    "is a stream; write `async for` instead of `for`",
                    "is not awaited; write `await` before it",
                )

    def _check_use(self, call: ast.Call, of_stream: str, of_other: str | None) -> None:
        """Report a use that is wrong for a call with a stream, or for any other call."""
        path = self._bindings.path(call.func)
        entry = self._entry(path) if path is not None and len(path) == 2 else None
        if path is not None and entry is not None:
            what = of_stream if entry.streams else of_other
            if what is not None:
                self._report(call, f"{self._display_name(path)} {what}")

    def _check_name(self, node: ast.AST, path: Path | None) -> None:
        """Report a domain or a capability that is not granted."""
        if path is None or not self._is_missing(path):
            return
        domain, full_name = path[0], ".".join(path[:2])
        functions = self._granted.get(domain)
        if functions is not None:
            name = path[1]
            candidates = {known: entry.name for known, entry in functions.items()}
        elif len(path) > 1:
            name = full_name
            candidates = {entry.name: entry.name for entry in self._manifest.capabilities}
        else:
            name = domain
            candidates = {known: known for known in self._granted}
        error = make_missing_error(
            full_name[: 2 * _MAX_NAME_CHARACTERS],
            self._manifest.policy_id,
            name[:_MAX_NAME_CHARACTERS],
            candidates,
        )
        self._report(node, error.message)

    def _is_missing(self, path: Path) -> bool:
        """Whether accessing `path` is certain to fail."""
        if not path or path[0] in _ERROR_NAMES or any(part.startswith("_") for part in path[:2]):
            return False
        functions = self._granted.get(path[0])
        return functions is None or (len(path) > 1 and path[1] not in functions)

    def _entry(self, path: Path) -> ManifestEntry | None:
        return self._granted.get(path[0], {}).get(path[1])

    def _check_call(self, node: ast.Call) -> None:
        path = self._bindings.path(node.func)
        entry = self._entry(path) if path is not None and len(path) > 1 else None
        if path is None or entry is None or path[2:] not in ((), ("options",)):
            return
        direct = len(path) == 2
        schema = payload_schema(entry.schema()) if direct else _OPTIONS
        for argument, message in argument_problems(node, schema, by_position=direct):
            self._report(argument, f"{self._display_name(path)} {message}")

    def _display_name(self, path: Path) -> str:
        return f"`{'.'.join((self._manifest.namespace, *path))}`"

    def _report(self, node: ast.AST, message: str) -> None:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        same_line = getattr(node, "end_lineno", line) == line
        end = getattr(node, "end_col_offset", None) if same_line else None
        self.problems.append(Refusal(message[:_MAX_MESSAGE_CHARACTERS], line, column, end))


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """The children of `node`, each with the errors that `node` catches in it."""
    caught = frozenset[str]()
    if isinstance(node, (ast.Try, ast.TryStar)):
        caught = frozenset(name for handler in node.handlers for name in _caught_by(handler))
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        caught = frozenset(name for item in node.items for name in _caught_by(item.context_expr))
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue  # may never be evaluated
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
