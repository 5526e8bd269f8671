"""Private attributes of `self` are checked once a method, where that is enough."""

from __future__ import annotations

import ast

import pytest

from caps.worker.inside.language import private_attributes
from caps.worker.inside.language.private_attributes import OWN_GUARD, OWNED_GUARD
from caps.worker.inside.language.transformer import Transformer

# What follows the first use decides, too; and a function within it may rebind for all of them.
REBINDING = {
    "by an assignment": "self._a; self = b",
    "by a loop": "self._a\n  for self in b: pass",
    "by an import": "self._a\n  import self.b",
    "by a handler": "self._a\n  try: b()\n  except E as self: pass",
    "by a pattern": "self._a\n  match b:\n   case {**self}: pass",
    "by a comprehension": "self._a; [1 for self in b]",
    "by a parameter within": "self._a\n  def g(self): pass",
    "by a declaration within": "self._a\n  def g():\n   nonlocal self",
    "by a method of a class within": "self._a\n  class B:\n   def g(self): pass",
}


def guards(body: str) -> list[str]:
    """The guards of a method with this body, in the order of a walk."""
    tree = Transformer().visit(ast.parse(f"class A:\n def f(self):\n  {body}\n"))
    names = [one.id for one in ast.walk(tree) if isinstance(one, ast.Name)]
    return [name for name in names if name in {OWN_GUARD, OWNED_GUARD}]


def test_one_check_covers_all_uses_in_a_method() -> None:
    """It stands at the start, also for a function that is defined in the method."""
    assert guards("self._a; self._b = self._a\n  def g(): return self._c") == [OWNED_GUARD]


@pytest.mark.parametrize("body", REBINDING.values(), ids=REBINDING)
def test_a_method_that_rebinds_its_parameter_checks_each_use(body: str) -> None:
    """Wherever it does so: the object of the check may not be that of the use."""
    assert guards(body) == [OWN_GUARD]


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
