"""The assert methods of `unittest.TestCase` that Python 3.14 has added."""

from __future__ import annotations

from typing import Any


class NewerAssertions:
    """Checks with `_check` of `Assertions`, which derives from it."""

    def _check(self, passed: Any, msg: Any, standard: str) -> None:
        raise NotImplementedError

    def assertStartsWith(self, s: Any, prefix: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(s.startswith(prefix), msg, f"{s!r} doesn't start with {_any_of(prefix)}")

    def assertNotStartsWith(self, s: Any, prefix: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(not s.startswith(prefix), msg, f"{s!r} starts with {_any_of(prefix)}")

    def assertEndsWith(self, s: Any, suffix: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(s.endswith(suffix), msg, f"{s!r} doesn't end with {_any_of(suffix)}")

    def assertNotEndsWith(self, s: Any, suffix: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(not s.endswith(suffix), msg, f"{s!r} ends with {_any_of(suffix)}")

    def assertHasAttr(self, obj: Any, name: str, msg: Any = None) -> None:  # noqa: N802
        self._check(hasattr(obj, name), msg, f"{_kind(obj)} has no attribute {name!r}")

    def assertNotHasAttr(self, obj: Any, name: str, msg: Any = None) -> None:  # noqa: N802
        self._check(not hasattr(obj, name), msg, f"{_kind(obj)} has unexpected attribute {name!r}")

    def assertIsSubclass(self, cls: Any, superclass: Any, msg: Any = None) -> None:  # noqa: N802
        standard = f"{cls!r} is not a subclass of {_any_of(superclass)}"
        self._check(self._derives(cls, superclass, msg), msg, standard)

    def assertNotIsSubclass(self, cls: Any, superclass: Any, msg: Any = None) -> None:  # noqa: N802
        standard = f"{cls!r} is a subclass of {_any_of(superclass)}"
        self._check(not self._derives(cls, superclass, msg), msg, standard)

    def _derives(self, cls: Any, superclass: Any, msg: Any) -> bool:
        try:
            return issubclass(cls, superclass)
        except TypeError:
            self._check(isinstance(cls, type), msg, f"{cls!r} is not a class")
            raise


def _any_of(choices: Any) -> str:
    return f"any of {choices!r}" if isinstance(choices, tuple) else repr(choices)


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return f"type object {value.__name__!r}"
    return f"{type(value).__name__!r} object"
