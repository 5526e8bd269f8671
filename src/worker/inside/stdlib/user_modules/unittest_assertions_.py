"""The assert methods of `unittest.TestCase` in user space."""

from __future__ import annotations

import difflib
import pprint
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

if sys.version_info >= (3, 14):
    from caps.worker.inside.stdlib.user_modules.sources.unittest_newer_ import NewerAssertions
else:
    NewerAssertions = object


class _Raises:
    """The context of `assertRaises`."""

    def __init__(self, case: Any, expected: Any, pattern: Any, msg: Any) -> None:
        self._case, self._expected, self._pattern, self._msg = case, expected, pattern, msg
        self.exception: BaseException | None = None

    def __enter__(self) -> _Raises:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, tb: object) -> bool:
        if error is None:
            name = getattr(self._expected, "__name__", str(self._expected))
            self._case.fail(self._case.text_of(self._msg, f"{name} not raised"))
        if not isinstance(error, self._expected):
            return False
        self.exception = error
        if self._pattern is not None and not re.search(self._pattern, str(error)):
            standard = f'"{self._pattern}" does not match "{error}"'
            self._case.fail(self._case.text_of(self._msg, standard))
        return True


class _Warns:
    """The context of `assertWarns`."""

    def __init__(self, case: Any, expected: Any, pattern: Any, msg: Any) -> None:
        self._case, self._expected, self._pattern, self._msg = case, expected, pattern, msg
        self._catch = warnings.catch_warnings(record=True)
        self._found: Any = []
        self.warning: Any = None
        self.filename, self.lineno = "", 0

    def __enter__(self) -> _Warns:
        self._found = self._catch.__enter__()
        warnings.simplefilter("always")
        return self

    def __exit__(self, kind: Any, error: BaseException | None, tb: object) -> None:
        self._catch.__exit__(None, None, None)
        if error is not None:
            return
        found = [one for one in self._found if issubclass(one.category, self._expected)]
        for one in found:
            if self._pattern is None or re.search(self._pattern, str(one.message)):
                self.warning, self.filename, self.lineno = one.message, one.filename, one.lineno
                return
        if found:
            standard = f'"{self._pattern}" does not match "{found[0].message}"'
            self._case.fail(self._case.text_of(self._msg, standard))
        name = getattr(self._expected, "__name__", str(self._expected))
        self._case.fail(self._case.text_of(self._msg, f"{name} not triggered"))


class _Logs:
    """The context of `assertLogs` and `assertNoLogs`; records go to no other handler meanwhile."""

    def __init__(self, case: Any, logger: Any, level: Any, none: bool) -> None:
        import logging

        self._case, self._none = case, none
        self._logger = logger if isinstance(logger, logging.Logger) else logging.getLogger(logger)
        self._level = logging.INFO if level is None else level
        self.records: list[Any] = []
        self.output: list[str] = []
        self._handler = logging.Handler()
        self._handler.emit = self._note  # type: ignore[method-assign]

    def _note(self, record: Any) -> None:
        self.records.append(record)
        self.output.append(f"{record.levelname}:{record.name}:{record.getMessage()}")

    def __enter__(self) -> _Logs | None:
        logger = self._logger
        self._before = logger.handlers[:], logger.level, logger.propagate
        logger.handlers[:] = [self._handler]
        logger.setLevel(self._level)
        self._handler.setLevel(self._level)
        logger.propagate = False
        return None if self._none else self

    def __exit__(self, kind: Any, error: BaseException | None, tb: object) -> None:
        logger = self._logger
        logger.handlers[:], level, logger.propagate = self._before
        logger.setLevel(level)
        if error is None and self._none and self.records:
            self._case.fail(f"Unexpected logs found: {self.output!r}")
        if error is None and not self._none and not self.records:
            self._case.fail(f"no logs of level {self._level} or higher triggered on {logger.name}")


class Assertions(NewerAssertions):
    """What a test can check."""

    failureException: type[Exception] = AssertionError
    longMessage = True
    maxDiff: int | None = 640

    def text_of(self, msg: Any, standard: str) -> str:
        """The message of a failure."""
        if msg is None:
            return standard
        return f"{standard} : {msg}" if self.longMessage else str(msg)

    def fail(self, msg: Any = None) -> None:
        raise self.failureException(msg)

    def _check(self, passed: Any, msg: Any, standard: str) -> None:
        if not passed:
            raise self.failureException(self.text_of(msg, standard))

    def assertTrue(self, expr: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(expr, msg, f"{expr!r} is not true")

    def assertFalse(self, expr: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(not expr, msg, f"{expr!r} is not false")

    def assertEqual(self, first: Any, second: Any, msg: Any = None) -> None:  # noqa: N802
        if not first == second:
            raise self.failureException(self.text_of(msg, _difference(first, second)))

    assertListEqual = assertTupleEqual = assertSetEqual = assertDictEqual = assertEqual  # noqa: N815
    assertMultiLineEqual = assertEqual  # noqa: N815

    def assertSequenceEqual(  # noqa: N802
        self, first: Any, second: Any, msg: Any = None, seq_type: Any = None
    ) -> None:
        for one in (first, second):
            if seq_type is not None and not isinstance(one, seq_type):
                raise self.failureException(f"{one!r} is not a {seq_type.__name__}")
        one, other = list(first), list(second)  # a list may equal a tuple
        self._check(first == second or one == other, msg, _difference(one, other))

    def assertNotEqual(self, first: Any, second: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(first != second, msg, f"{first!r} == {second!r}")

    def assertIs(self, first: Any, second: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(first is second, msg, f"{first!r} is not {second!r}")

    def assertIsNot(self, first: Any, second: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(first is not second, msg, f"unexpectedly identical: {first!r}")

    def assertIsNone(self, obj: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(obj is None, msg, f"{obj!r} is not None")

    def assertIsNotNone(self, obj: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(obj is not None, msg, "unexpectedly None")

    def assertIn(self, member: Any, container: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(member in container, msg, f"{member!r} not found in {container!r}")

    def assertNotIn(self, member: Any, container: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(member not in container, msg, f"{member!r} unexpectedly found in {container!r}")

    def assertIsInstance(self, obj: Any, cls: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(isinstance(obj, cls), msg, f"{obj!r} is not an instance of {cls!r}")

    def assertNotIsInstance(self, obj: Any, cls: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(not isinstance(obj, cls), msg, f"{obj!r} is an instance of {cls!r}")

    def assertGreater(self, a: Any, b: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(a > b, msg, f"{a!r} not greater than {b!r}")

    def assertGreaterEqual(self, a: Any, b: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(a >= b, msg, f"{a!r} not greater than or equal to {b!r}")

    def assertLess(self, a: Any, b: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(a < b, msg, f"{a!r} not less than {b!r}")

    def assertLessEqual(self, a: Any, b: Any, msg: Any = None) -> None:  # noqa: N802
        self._check(a <= b, msg, f"{a!r} not less than or equal to {b!r}")

    def assertAlmostEqual(  # noqa: N802
        self, first: Any, second: Any, places: Any = None, msg: Any = None, delta: Any = None
    ) -> None:
        if first == second:
            return
        bound = f"{delta!r} delta" if delta is not None else f"{places or 7} places"
        standard = f"{first!r} != {second!r} within {bound} ({abs(first - second)!r} difference)"
        self._check(_is_close(first, second, places, delta), msg, standard)

    def assertNotAlmostEqual(  # noqa: N802
        self, first: Any, second: Any, places: Any = None, msg: Any = None, delta: Any = None
    ) -> None:
        same = first == second or _is_close(first, second, places, delta)
        self._check(not same, msg, f"{first!r} == {second!r} within the bound")

    def assertRegex(self, text: str, expected_regex: Any, msg: Any = None) -> None:  # noqa: N802
        found = re.search(expected_regex, text)
        self._check(found, msg, f"Regex didn't match: {expected_regex!r} not found in {text!r}")

    def assertNotRegex(self, text: str, unexpected_regex: Any, msg: Any = None) -> None:  # noqa: N802
        found = re.search(unexpected_regex, text)
        self._check(not found, msg, f"Regex matched: {unexpected_regex!r} matches in {text!r}")

    def assertCountEqual(  # noqa: N802
        self, first: Iterable[Any], second: Iterable[Any], msg: Any = None
    ) -> None:
        one, other = list(first), list(second)
        try:
            same = Counter(one) == Counter(other)
        except TypeError:  # items without a hash
            same = len(one) == len(other) and all(one.count(x) == other.count(x) for x in one)
        self._check(same, msg, f"Element counts were not equal:\n{one!r}\n{other!r}")

    def assertRaises(  # noqa: N802
        self, expected_exception: Any, *args: Any, msg: Any = None, **kwargs: Any
    ) -> Any:
        return _call_in(_Raises(self, expected_exception, None, msg), args, kwargs)

    def assertRaisesRegex(  # noqa: N802
        self,
        expected_exception: Any,
        expected_regex: Any,
        *args: Any,
        msg: Any = None,
        **kwargs: Any,
    ) -> Any:
        return _call_in(_Raises(self, expected_exception, expected_regex, msg), args, kwargs)

    def assertWarns(  # noqa: N802
        self, expected_warning: Any, *args: Any, msg: Any = None, **kwargs: Any
    ) -> Any:
        return _call_in(_Warns(self, expected_warning, None, msg), args, kwargs)

    def assertWarnsRegex(  # noqa: N802
        self,
        expected_warning: Any,
        expected_regex: Any,
        *args: Any,
        msg: Any = None,
        **kwargs: Any,
    ) -> Any:
        return _call_in(_Warns(self, expected_warning, expected_regex, msg), args, kwargs)

    def assertLogs(self, logger: Any = None, level: Any = None) -> Any:  # noqa: N802
        return _Logs(self, logger, level, none=False)

    def assertNoLogs(self, logger: Any = None, level: Any = None) -> Any:  # noqa: N802
        return _Logs(self, logger, level, none=True)


def _call_in(context: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The context, or the call of the function that was passed in it."""
    if not args:
        return context
    function: Callable[..., Any] = args[0]
    with context:
        function(*args[1:], **kwargs)
    return None


def _is_close(first: Any, second: Any, places: Any, delta: Any) -> bool:
    difference = abs(first - second)
    if delta is not None:
        return bool(difference <= delta)
    return bool(round(difference, 7 if places is None else places) == 0)


def _difference(first: Any, second: Any) -> str:
    standard = f"{first!r} != {second!r}"
    if type(first) is not type(second) or not isinstance(first, (str, list, tuple, dict, set)):
        return standard
    one, other = (
        (value if isinstance(value, str) else pprint.pformat(value)).splitlines()
        for value in (first, second)
    )
    return "\n".join([standard, "", *(line.rstrip("\n") for line in difflib.ndiff(one, other))])
