"""Private attributes of `self` are checked once a method, where that is enough."""

from __future__ import annotations

import ast

import pytest

from caps.worker.inside.language import private_attributes
from caps.worker.inside.language.private_attributes import OWN_GUARD, OWNED_GUARD
from caps.worker.inside.language.transformer import Transformer

# A function within the method may rebind for all of it, too.
REBINDING = {
    "by an assignment": "self = b",
    "by an assignment with a type": "self: int = b",
    "by an assignment in an expression": "(self := b)",
    "by an assignment of parts": "(x, (self, *y)) = b",
    "by a deletion": "del self",
    "by a loop": "for self in b: pass",
    "by a loop over parts": "for (self, x) in b: pass",
    "by a context": "with b as (self, x): pass",
    "by an import": "import self.b",
    "by a handler": "try: b()\n  except E as self: pass",
    "by a pattern": "match b:\n   case {**self}: pass",
    "by a comprehension": "[1 for self in b]",
    "by a definition within": "def self(): pass",
    "by a parameter within": "def g(self): pass",
    "by a declaration within": "def g():\n   nonlocal self",
    "by a method of a class within": "class B:\n   def g(self): pass",
}


def guards(body: str) -> list[str]:
    """The guards of a method with this body, in the order of a walk."""
    tree = Transformer().visit(ast.parse(f"class A:\n def f(self):\n  {body}\n"))
    names = [one.id for one in ast.walk(tree) if isinstance(one, ast.Name)]
    return [name for name in names if name in {OWN_GUARD, OWNED_GUARD}]


def test_one_check_covers_all_uses_in_a_method() -> None:
    """It stands at the start, also for a function that is defined in the method."""
    assert guards("self._a; self._b = self._a\n  def g(): return self._c") == [OWNED_GUARD]


@pytest.mark.parametrize("rebinding", REBINDING.values(), ids=REBINDING)
def test_a_method_that_rebinds_its_parameter_checks_each_use(rebinding: str) -> None:
    """Wherever it does so: the object of the check may not be that of the use."""
    assert guards(f"self._a\n  {rebinding}") == [OWN_GUARD]
    assert guards(f"{rebinding}\n  self._a") == [OWN_GUARD]
    assert guards(f"self._a\n  {rebinding}\n  self._a") == [OWN_GUARD, OWN_GUARD]


def test_a_method_within_a_method_has_a_check_of_its_own() -> None:
    """Of its own parameter; the one of the outer method has another name."""
    inner = "class B:\n   def g(cls): return cls._a"
    assert guards(f"self._a\n  {inner}") == [OWNED_GUARD, OWNED_GUARD]


def test_a_method_without_private_attributes_is_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most have none, and the search goes through the whole method."""

    def search(_: ast.AST) -> None:
        pytest.fail("the method was searched")

    monkeypatch.setattr(private_attributes, "_bound_names", search)
    assert guards("self.a = 1; return self.a") == []
