"""Reads the test files of the running Python, and changes their imports mechanically.

`test.support` is the stand-in in `cpython/stand_in.py`, and other modules of `test` that a file
imports are put in front of it. Nothing of these files is stored in the project.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path


def find_file(module: str) -> Path | None:
    """The file of a module of the package `test`; None if it is not installed."""
    try:
        spec = importlib.util.find_spec(f"test.{module}")
    except ModuleNotFoundError:
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)


# What a test file writes for names that the sandbox lacks, and that do not matter in these tests.
_SUBSTITUTES = {
    "asyncio.EventLoop": "ignore_",
    "asyncio.events._set_event_loop_policy": "ignore_",
    "asyncio.set_event_loop_policy": "ignore_",
    "configparser._UNSET": "default_interpolation_",
    "configparser._default_dict": "dict",
    "enum.property": "property",
    "tempfile.TemporaryFile": "temporary_file_",
}


# The parts of `test.support` that the stand-in has; others are put in front of the file.
_STAND_INS = frozenset(
    {"import_helper", "os_helper", "script_helper", "threading_helper", "warnings_helper"}
)


class _Substitutions(ast.NodeTransformer):
    """Writes what the stand-in has for some names."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        substitute = _SUBSTITUTES.get(ast.unparse(node))
        if substitute is not None:
            return ast.Name(substitute, ast.Load())
        if node.attr == "_member_type_":
            return ast.Call(ast.Name("member_type_", ast.Load()), [node.value], [])
        return node


class SourceFile:
    """Reads a test file and the modules of `test` that it imports."""

    def __init__(self) -> None:
        self._front: list[ast.stmt] = []
        self._inlined: set[str] = set()
        self._futures: set[str] = set()

    def has_future(self, module: str) -> bool:
        """Whether the module has `from __future__ import annotations`."""
        return module in self._futures

    def adapt(self, module: str) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The statements of the file, and those of the modules that go in front of it."""
        return self._statements(module), self._front

    def _statements(self, module: str) -> list[ast.stmt]:
        path = find_file(module)
        if path is None:
            raise FileNotFoundError(f"`test.{module}` is not installed")
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        tree = _Substitutions().visit(ast.parse(path.read_text()))
        found: list[ast.stmt] = _named_modules(tree)
        for one in tree.body:
            found += self._statement(one, module, package)
        return found

    def _statement(self, node: ast.stmt, module: str, package: str) -> Iterator[ast.stmt]:
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            return  # the file as a command
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self._import(alias)
        elif isinstance(node, ast.ImportFrom) and node.module == "__future__":
            self._futures.add(module)
        elif isinstance(node, ast.ImportFrom):
            base = f"test.{package}".rstrip(".") if node.level else ""
            name = ".".join(part for part in (base, node.module) if part)
            for alias in _names_of(name, node.names):
                yield from self._import_from(name, alias)
        else:
            yield node

    def _import(self, alias: ast.alias) -> Iterator[ast.stmt]:
        if alias.name.partition(".")[0] != "test":
            yield ast.Import([alias])
        elif alias.name.startswith("test.support"):
            yield _assign("test", "test_package_")
        else:
            inner = alias.name.removeprefix("test.")
            self._inline(inner, alias.asname or f"test_package_.{inner}")
            yield _assign("test", "test_package_")

    def _import_from(self, module: str, alias: ast.alias) -> Iterator[ast.stmt]:
        name = alias.asname or alias.name
        substitute = _SUBSTITUTES.get(f"{module}.{alias.name}")
        if substitute is not None:
            yield _assign(name, substitute)
        elif module == "asyncio" and importlib.util.find_spec(f"asyncio.{alias.name}"):
            yield _assign(name, "asyncio")  # it has the names of its modules
        elif module == "test" and alias.name == "support":
            yield _assign(name, "test_support_")
        elif module == "test.support" and not self._is_inlined(alias.name):
            yield _assign(name, f"test_support_.{alias.name}")
        elif module.removeprefix("test.support.") in _STAND_INS:
            owner = module.replace("test.support", "test_support_", 1)
            yield _assign(name, f"{owner}.{alias.name}")
        elif module == "test" or module.startswith("test."):
            inner = f"{module}.{alias.name}".removeprefix("test.")
            if find_file(inner) is not None:
                self._inline(inner, name)
            else:
                self._inline(module.removeprefix("test."), None)
                if name != alias.name:
                    yield _assign(name, alias.name)
        else:
            yield ast.ImportFrom(module, [alias], 0)

    @staticmethod
    def _is_inlined(name: str) -> bool:
        """Whether a name of `test.support` is a module that has no stand-in."""
        return name not in _STAND_INS and find_file(f"support.{name}") is not None

    def _inline(self, module: str, name: str | None) -> None:
        """Put the statements of another module in front; `name` is how the file calls it."""
        if module not in self._inlined:
            self._inlined.add(module)
            self._front += self._statements(module)
        if name is not None:
            names = _top_names(self._statements(module))
            pairs = ", ".join(f"{one}={one}" for one in names)
            self._front += ast.parse(f"{name} = types.SimpleNamespace({pairs})").body


def _names_of(module: str, names: list[ast.alias]) -> list[ast.alias]:
    """The imported names; those of `*` are the ones of the real module."""
    if names[0].name != "*":
        return names
    found = importlib.import_module(module)
    public = getattr(found, "__all__", [one for one in vars(found) if not one.startswith("_")])
    return [ast.alias(one) for one in public]


def _named_modules(tree: ast.AST) -> list[ast.stmt]:
    """Statements that import what the file asks `import_helper` for."""
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and one.args]
    names = [
        ast.literal_eval(one.args[0])
        for one in calls
        if ast.unparse(one.func).endswith(("import_fresh_module", "import_module"))
        and isinstance(one.args[0], ast.Constant)
    ]
    sources = [
        f"import {name} as module_; modules_[{name!r}] = module_, {_accelerated(name)!r}"
        for name in sorted({*names})
    ]
    return [ast.Try(ast.parse(one).body, _pass_handlers(), [], []) for one in sources]


def _accelerated(name: str) -> list[str]:
    """The names of a module that have a second implementation, in C."""
    if "." in name or importlib.util.find_spec(f"_{name}") is None:
        return []
    names = vars(importlib.import_module(f"_{name}"))
    return [one for one in names if callable(names[one]) and not one.startswith("__")]


def _pass_handlers() -> list[ast.ExceptHandler]:
    block = ast.parse("try: pass\nexcept ImportError: pass").body[0]
    assert isinstance(block, ast.Try)
    return block.handlers


def _assign(name: str, value: str) -> ast.stmt:
    return ast.parse(f"{name} = {value}").body[0]


def _top_names(body: list[ast.stmt]) -> list[str]:
    names = [one.name for one in body if isinstance(one, ast.ClassDef | ast.FunctionDef)]
    return list(dict.fromkeys(names))
