"""(4) Compiles source to a `Program`, or raises an error that shows the user's line.

A program with a `return` at its top level becomes the code of a function whose names are all
global: so `return` means what it means in Python, also within `with`, `try` and loops, and names
are kept as ever. Any other program stays a module.
"""

from __future__ import annotations

import ast
import gc
import marshal
import re
import warnings
from inspect import CO_COROUTINE, CO_NEWLOCALS
from types import CodeType
from typing import Any

import msgspec

from caps.protocol.errors import ExecutionError
from caps.protocol.messages import MAX_SOURCE_BYTES
from caps.worker.inside.language.scopes.synced_functions import sync_functions
from caps.worker.inside.language.transformer import RESULT_NAME, Refusal, Transformer

# The line endings of Python source. `splitlines` knows more of them and would count differently.
_LINE_END = re.compile("\r\n|\r|\n")


class SourceError(ExecutionError):
    """The source cannot run. Details: `kind`, `line`, `column`, `problems`.

    `kind` is `syntax`, `refused` (by the language layer) or `checked` (calls that must fail).

    Lines count from 1, columns from 0 and in characters.
    """

    code = "source_error"
    python_error: SyntaxError | None = None
    """The interpreter's own error, if the source is not Python."""


class Program(msgspec.Struct, frozen=True):
    """Compiled user code."""

    code: CodeType
    filename: str
    lines: tuple[str, ...]
    unguarded: frozenset[str]
    """The private names that the code uses without a guard, because no library that was loaded at
    compile time uses them. The program may run only where this is also true."""
    result_name: str = RESULT_NAME
    restricted: bool = True
    private_names: frozenset[str] = frozenset()

    @property
    def is_coroutine(self) -> bool:
        """Whether the program awaits at the top level, so that running it returns a coroutine."""
        return bool(self.code.co_flags & CO_COROUTINE)

    @property
    def returns(self) -> bool:
        """Whether running it returns its result; otherwise the result is under `result_name`."""
        return bool(self.code.co_flags & CO_NEWLOCALS)


def pack(program: Program) -> bytes:
    """Serialize what is not in the source, for a worker with the same language and Python version.

    `unpack` reads it.
    """
    private_names, unguarded = sorted(program.private_names), sorted(program.unguarded)
    return marshal.dumps((program.code, private_names, unguarded))


def unpack(packed: bytes, source: str, filename: str, *, restricted: bool) -> Program:
    """Restore the program. Runs in the worker: `packed` is trusted as little as `source`.

    Forged bytes gain nothing: they run in the same confinement as the source would.
    """
    code, private_names, unguarded = marshal.loads(packed)  # noqa: S302 - never on the host, see above
    return Program(
        code,
        filename,
        _split_lines(source),
        restricted=restricted,
        private_names=frozenset(private_names),
        unguarded=frozenset(unguarded),
    )


def compile_unrestricted(source: str, filename: str) -> Program:
    """Compile without any check, to test the layers below with the language layer switched off."""
    tree = compile(source, filename, "exec", _PARSE_FLAGS, dont_inherit=True)
    body = tree.body
    if body and isinstance(body[-1], ast.Expr):
        keep = ast.Assign(targets=[ast.Name(RESULT_NAME, ast.Store())], value=body[-1].value)
        body[-1] = ast.fix_missing_locations(ast.copy_location(keep, body[-1]))
    code = _compile_tree(tree, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    lines = _split_lines(source)
    return Program(code, filename, lines, restricted=False, unguarded=frozenset())


def parse_source(source: str, filename: str) -> ast.Module:
    """The syntax tree of `source` as written, without checks or guards."""
    with WithoutCollectionOrWarnings():
        tree: ast.Module = compile(source, filename, "exec", _PARSE_FLAGS, dont_inherit=True)
    return tree


def parse_expression(source: str) -> ast.Expression:
    """The syntax tree of an expression. Raises SyntaxError, as Python does."""
    with WithoutCollectionOrWarnings():
        tree = compile(source, "<unknown>", "eval", ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Expression)
    return tree


class WithoutCollection:
    """No garbage collection inside: it may close a generator of the user's, whose `finally` runs
    any code. Python 3.11 cannot compile while it compiles.

    Not a generator with `contextmanager`: user code can set attributes on the class behind that.
    """

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_error: object) -> None:
        if self._was_enabled:
            gc.enable()


# What `simplefilter("ignore")` would put in front of all other filters.
_IGNORE_ALL: list[Any] = [("ignore", None, Warning, None, 0)]


class WithoutCollectionOrWarnings(WithoutCollection):
    """No garbage collection and no warnings inside: what `catch_warnings` and a filter do.

    These two build lists and search them. A worker that was just forked pays for that in copied
    pages, six in a hundred of what it takes to compile ten lines.
    """

    __slots__ = ("_filters",)

    def __enter__(self) -> None:
        super().__enter__()
        self._filters = warnings.filters
        warnings.filters = _IGNORE_ALL

    def __exit__(self, *error: object) -> None:
        warnings.filters = self._filters
        super().__exit__(*error)


def _split_lines(source: str) -> tuple[str, ...]:
    # Without a regular expression as long as there is only one kind of line ending.
    return tuple(_LINE_END.split(source) if "\r" in source else source.split("\n"))


def compile_source(source: str, filename: str = "<agent>") -> Program:
    """Parse, check and compile. Raises a SourceError that says what is wrong and where."""
    return _compile(source, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def compile_text(source: str, mode: str, *, synced: bool = False) -> Program:
    """The same for a string that running code passes to `eval` or `exec`: it cannot await.

    With `synced`, its functions keep the dictionary that was passed in line: see `scopes`.
    """
    return _compile(source, "<string>", mode, 0, synced=synced)


def _compile(source: str, filename: str, mode: str, flags: int, *, synced: bool = False) -> Program:
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_SOURCE_BYTES:
        raise SourceError(
            f"the source has {size} bytes, over the limit of {MAX_SOURCE_BYTES}",
            kind="refused",
            problems=[],
        )
    lines = _split_lines(source)
    with WithoutCollectionOrWarnings():
        try:
            tree = compile(source, filename, mode, ast.PyCF_ONLY_AST | flags, dont_inherit=True)
            tree, transformer = _transform(tree, lines)
            if synced and isinstance(tree, ast.Module):
                sync_functions(tree)
            code = _compile_tree(tree, filename, mode, flags)
            del tree  # before the garbage collector, which would go through it
        except SyntaxError as error:
            raise _syntax_error(error, lines) from None
        except (RecursionError, MemoryError):
            raise SourceError(
                "the source nests too deeply to compile", kind="refused", problems=[]
            ) from None
        except SystemError as error:  # the compiler found its own state changed
            raise SourceError(
                f"the source cannot be compiled: {error}", kind="refused", problems=[]
            ) from None
        except ValueError as error:  # a NUL byte, a lone surrogate
            raise SourceError(
                f"the source is not valid text: {error}", kind="syntax", problems=[]
            ) from None
    return Program(
        code,
        filename,
        lines,
        private_names=frozenset(transformer.private_names),
        unguarded=frozenset(transformer.unguarded),
    )


def _compile_tree(
    tree: ast.Module | ast.Expression, filename: str, mode: str, flags: int
) -> CodeType:
    """Only a program may return, which also may await: the text of an `exec` may do neither."""
    try:
        code: CodeType = compile(tree, filename, mode, flags, True, 0)
    except SyntaxError as error:
        if (
            error.msg != "'return' outside function"
            or not flags
            or isinstance(tree, ast.Expression)
        ):
            raise
        return _compile_function(tree, filename, flags)
    return code


def _compile_function(tree: ast.Module, filename: str, flags: int) -> CodeType:
    """The code of a function that does what `tree` does, and returns its result."""
    returns = _TopLevel()
    returns.visit(tree)
    # As a module it shows every other error, whether it awaits, and which names it has.
    module: CodeType = compile(tree, filename, "exec", flags, True, 0)
    returns.is_function = True
    returns.visit(tree)
    is_coroutine = module.co_flags & CO_COROUTINE
    function = ast.parse("async def f(): 1" if is_coroutine else "def f(): 1").body[0]
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    # In 3.11 a comprehension is a function, and what `:=` binds in it is not among the names.
    bound = {node.target.id for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)}
    names = sorted({*module.co_names, *bound} - {RESULT_NAME})
    function.name = _MODULE
    function.body = [*([ast.Global(names)] if names else []), *tree.body[returns.futures :]]
    last = function.body[-1]
    if isinstance(last, ast.Assign) and _is_result(last.targets[0]):
        function.body[-1] = ast.copy_location(ast.Return(last.value), last)
    tree.body[returns.futures :] = [ast.fix_missing_locations(function)]
    outer: CodeType = compile(tree, filename, "exec", flags, True, 0)
    (code,) = (one for one in outer.co_consts if isinstance(one, CodeType))
    return _with_plain_names(code)


_MODULE = "<module>"


class _TopLevel(ast.NodeTransformer):
    """Replaces each `return` of the top level by its value; and back, in what is a function then:
    there, a global name cannot be annotated or declared again."""

    def __init__(self) -> None:
        self.is_function = False
        self.futures = 0
        self._returns: dict[ast.AST, ast.Return] = {}

    def visit(self, node: ast.AST) -> ast.AST:
        inner = (ast.expr, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found: ast.AST = node if isinstance(node, inner) else super().visit(node)
        return found

    def visit_Module(self, node: ast.Module) -> ast.AST:
        future = [n for n, one in enumerate(node.body) if _is_future(one)]
        self.futures = future[-1] + 1 if future else 0
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        stand_in = ast.copy_location(ast.Expr(node.value or ast.Constant(None)), node)
        self._returns[stand_in] = node
        return ast.fix_missing_locations(stand_in)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return self._returns.get(node, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if not self.is_function or not node.simple:
            return node
        plain = ast.Pass() if node.value is None else ast.Assign([node.target], node.value)
        return ast.copy_location(plain, node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        return ast.copy_location(ast.Pass(), node) if self.is_function else node


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_result(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == RESULT_NAME


def _with_plain_names(code: CodeType) -> CodeType:
    """`code` with qualified names as in a module: `<lambda>`, not `<module>.<locals>.<lambda>`."""
    inner = (_with_plain_names(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    name = code.co_qualname.removeprefix(f"{_MODULE}.<locals>.")
    return code.replace(co_consts=tuple(inner), co_qualname=name)


_MESSAGE_PREFIXES = {"refused": "refused", "checked": "check failed"}
_PARSE_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def _transform(
    tree: ast.AST, lines: tuple[str, ...]
) -> tuple[ast.Module | ast.Expression, Transformer]:
    transformer = Transformer()
    changed = transformer.visit(tree)
    if transformer.refusals:
        raise source_error(transformer.refusals, lines, kind="refused")
    assert isinstance(changed, (ast.Module, ast.Expression))
    return changed, transformer


def source_error(refusals: list[Refusal], lines: tuple[str, ...], *, kind: str) -> SourceError:
    """One error for all `refusals`; its message is that of the first one in the source."""
    ordered = sorted(refusals, key=lambda refusal: (refusal.line, refusal.column))
    first = ordered[0]
    shown = _line(lines, first.line)
    more = f" (and {len(ordered) - 1} more)" if len(ordered) > 1 else ""
    return SourceError(
        f"{_MESSAGE_PREFIXES[kind]} on line {first.line}: {first.message}{more}",
        kind=kind,
        line=first.line,
        column=in_characters(shown, first.column),
        end_column=None if first.end_column is None else in_characters(shown, first.end_column),
        source_line=shown,
        problems=[
            {
                "line": refusal.line,
                "column": in_characters(_line(lines, refusal.line), refusal.column),
                "message": refusal.message,
            }
            for refusal in ordered[:64]
        ],
    )


def in_characters(line: str, column: int) -> int:
    """Convert a column from UTF-8 bytes, which the syntax tree counts, to characters."""
    return len(line.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))


def _syntax_error(error: SyntaxError, lines: tuple[str, ...]) -> SourceError:
    line = error.lineno or 1
    column = max(0, (error.offset or 1) - 1)
    end = (error.end_offset or 0) - 1 if error.end_lineno == line else None
    message = error.msg or "invalid syntax"
    found = SourceError(
        f"syntax error on line {line}: {message}",
        kind="syntax",
        line=line,
        column=column,
        end_column=end if end is not None and end > column else None,
        source_line=_line(lines, line),
        problems=[{"line": line, "column": column, "message": message}],
    )
    found.python_error = _same_error(error)
    return found


def _same_error(error: SyntaxError) -> SyntaxError:
    """A copy without the frames and the context of the compiler."""
    copy = type(error)(*error.args)
    for name in ("filename", "lineno", "offset", "text", "end_lineno", "end_offset"):
        setattr(copy, name, getattr(error, name))
    return copy


def _line(lines: tuple[str, ...], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""
