"""(4) From source to a program that may run, or an error with the user's own line."""

from __future__ import annotations

import ast
import inspect
import marshal
import re
import warnings
from dataclasses import dataclass, field
from types import CodeType

from caps.protocol.errors import ExecutionError
from caps.protocol.messages import MAX_SOURCE_BYTES
from caps.worker.inside.language.transformer import RESULT_NAME, Refusal, Transformer

# What Python takes for the end of a line; `splitlines` knows more, and would count differently.
_LINE_END = re.compile("\r\n|\r|\n")


class SourceError(ExecutionError):
    """The source cannot run. Details: `kind`, `line`, `column`, `problems`.

    The kind is `syntax`, `refused` (by the language layer) or `checked` (calls that must fail).

    Lines count from 1, columns from 0 and in characters.
    """

    code = "source_error"


@dataclass(frozen=True, slots=True)
class Program:
    """Compiled user code."""

    code: CodeType
    filename: str
    lines: tuple[str, ...]
    result_name: str = RESULT_NAME
    restricted: bool = True
    private_names: frozenset[str] = frozenset()
    unguarded: frozenset[str] = field(kw_only=True)
    """Those of them that the code touches without a check, as they are nobody's where it was
    compiled; it may run only where that holds, too."""

    @property
    def is_coroutine(self) -> bool:
        """Whether running it gives a coroutine: it awaits at the top level."""
        return bool(self.code.co_flags & inspect.CO_COROUTINE)


def pack(program: Program) -> bytes:
    """What is not in the source, for a worker of the same language and Python. See `unpack`."""
    private_names, unguarded = sorted(program.private_names), sorted(program.unguarded)
    return marshal.dumps((program.code, private_names, unguarded))


def unpack(packed: bytes, source: str, filename: str, *, restricted: bool) -> Program:
    """The program again. Runs in the worker: `packed` is as little to be trusted as `source` is,
    and whoever could make it lie could only do what the source does, in the same confinement."""
    code, private_names, unguarded = marshal.loads(packed)  # noqa: S302 - never on the host, see above
    return Program(
        code,
        filename,
        tuple(_LINE_END.split(source)),
        restricted=restricted,
        private_names=frozenset(private_names),
        unguarded=frozenset(unguarded),
    )


def compile_plainly(source: str, filename: str) -> Program:
    """Plain Python, unchecked: for proving the layers beneath with this one switched off."""
    tree = compile(source, filename, "exec", _PARSE_FLAGS, dont_inherit=True)
    body = tree.body
    if body and isinstance(body[-1], ast.Expr):
        keep = ast.Assign(targets=[ast.Name(RESULT_NAME, ast.Store())], value=body[-1].value)
        body[-1] = ast.fix_missing_locations(ast.copy_location(keep, body[-1]))
    code = compile(tree, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True, 0)
    lines = tuple(_LINE_END.split(source))
    return Program(code, filename, lines, restricted=False, unguarded=frozenset())


def parse_source(source: str, filename: str) -> ast.Module:
    """The syntax tree of `source` as it was written, for looking at."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree: ast.Module = compile(source, filename, "exec", _PARSE_FLAGS, dont_inherit=True)
    return tree


def compile_source(source: str, filename: str = "<agent>") -> Program:
    """Parse, check and compile; a SourceError says what is wrong and where."""
    return _compiled(source, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def compile_text(source: str, mode: str) -> Program:
    """The same for text that running code hands to `eval` or `exec`: it cannot await."""
    return _compiled(source, "<string>", mode, 0)


def _compiled(source: str, filename: str, mode: str, flags: int) -> Program:
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > MAX_SOURCE_BYTES:
        raise SourceError(
            f"the source has {size} bytes, over the limit of {MAX_SOURCE_BYTES}",
            kind="refused",
            problems=[],
        )
    lines = tuple(_LINE_END.split(source))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = compile(source, filename, mode, ast.PyCF_ONLY_AST | flags, dont_inherit=True)
            tree, transformer = _transformed(tree, lines)
            code = compile(tree, filename, mode, flags, True, 0)
        except SyntaxError as error:
            raise _syntax_error(error, lines) from None
        except (RecursionError, MemoryError):
            raise SourceError(
                "the source nests too deeply to compile", kind="refused", problems=[]
            ) from None
        except ValueError as error:  # a NUL byte, a lone surrogate
            raise SourceError(
                f"the source is no valid text: {error}", kind="syntax", problems=[]
            ) from None
    return Program(
        code,
        filename,
        lines,
        private_names=frozenset(transformer.private_names),
        unguarded=frozenset(transformer.unguarded),
    )


_FOUND_BY = {"refused": "refused", "checked": "check failed"}
_PARSE_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def _transformed(
    tree: ast.AST, lines: tuple[str, ...]
) -> tuple[ast.Module | ast.Expression, Transformer]:
    transformer = Transformer()
    changed = transformer.visit(tree)
    if transformer.refusals:
        raise source_error(transformer.refusals, lines, kind="refused")
    assert isinstance(changed, (ast.Module, ast.Expression))
    return changed, transformer


def source_error(refusals: list[Refusal], lines: tuple[str, ...], *, kind: str) -> SourceError:
    """All that was found wrong with the source, as one error that leads with the first."""
    ordered = sorted(refusals, key=lambda refusal: (refusal.line, refusal.column))
    first = ordered[0]
    shown = _line(lines, first.line)
    more = f" (and {len(ordered) - 1} more)" if len(ordered) > 1 else ""
    return SourceError(
        f"{_FOUND_BY[kind]} on line {first.line}: {first.message}{more}",
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
    """A column that counts bytes of UTF-8, as the syntax tree does, in characters."""
    return len(line.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))


def _syntax_error(error: SyntaxError, lines: tuple[str, ...]) -> SourceError:
    line = error.lineno or 1
    column = max(0, (error.offset or 1) - 1)
    end = (error.end_offset or 0) - 1 if error.end_lineno == line else None
    message = error.msg or "invalid syntax"
    return SourceError(
        f"syntax error on line {line}: {message}",
        kind="syntax",
        line=line,
        column=column,
        end_column=end if end is not None and end > column else None,
        source_line=_line(lines, line),
        problems=[{"line": line, "column": column, "message": message}],
    )


def _line(lines: tuple[str, ...], number: int) -> str:
    return lines[number - 1] if 0 < number <= len(lines) else ""
