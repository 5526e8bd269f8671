"""`unittest` of user space: test cases, and a runner that writes to the captured output."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from caps.worker.inside.stdlib.user_modules.unittest_assertions_ import Assertions


class SkipTest(Exception):
    """Skips the test that raises it."""


def skip(reason: str) -> Callable[[Any], Any]:
    """`@unittest.skip`."""

    def mark(test: Any) -> Any:
        test.skipped_because = reason
        return test

    return mark


def skipIf(condition: object, reason: str) -> Callable[[Any], Any]:  # noqa: N802
    """`@unittest.skipIf`."""
    return skip(reason) if condition else lambda test: test


def skipUnless(condition: object, reason: str) -> Callable[[Any], Any]:  # noqa: N802
    """`@unittest.skipUnless`."""
    return skipIf(not condition, reason)


def expectedFailure(test: Any) -> Any:  # noqa: N802 - the library's name
    """`@unittest.expectedFailure`."""
    test.is_expected_to_fail = True
    return test


class TestCase(Assertions):
    """`unittest.TestCase`."""

    def __init__(self, methodName: str = "runTest") -> None:  # noqa: N803 - the library's name
        self._method = methodName
        self._cleanups: list[Any] = []
        self._result: TestResult | None = None

    def setUp(self) -> None:
        """Runs before each test."""

    def tearDown(self) -> None:
        """Runs after each test."""

    @classmethod
    def setUpClass(cls) -> None:
        """Runs before the tests of the class."""

    @classmethod
    def tearDownClass(cls) -> None:
        """Runs after the tests of the class."""

    def addCleanup(self, function: Any, /, *args: Any, **kwargs: Any) -> None:  # noqa: N802
        self._cleanups.append((function, args, kwargs))

    def enterContext(self, cm: Any) -> Any:  # noqa: N802 - the library's name
        entered = cm.__enter__()
        self.addCleanup(cm.__exit__, None, None, None)
        return entered

    def doCleanups(self) -> None:  # noqa: N802 - the library's name
        while self._cleanups:
            function, args, kwargs = self._cleanups.pop()
            function(*args, **kwargs)

    def skipTest(self, reason: Any) -> None:  # noqa: N802 - the library's name
        raise SkipTest(reason)

    def id(self) -> str:
        return f"__main__.{type(self).__qualname__}.{self._method}"

    def shortDescription(self) -> str | None:  # noqa: N802 - the library's name
        text = getattr(self, self._method).__doc__
        return text.strip().splitlines()[0] if text else None

    def countTestCases(self) -> int:  # noqa: N802 - the library's name
        return 1

    @contextlib.contextmanager
    def subTest(self, msg: Any = None, **params: Any) -> Iterator[None]:  # noqa: N802
        parts = [f"[{msg}]"] if msg is not None else []
        parts += [f"({', '.join(f'{name}={value!r}' for name, value in params.items())})"]
        result = self._result
        try:
            yield
        except SkipTest:
            raise
        except Exception as error:
            if result is None:
                raise
            result.note(_SubTest(self, " ".join(parts)), error)

    def run(self, result: TestResult | None = None) -> TestResult:
        """Run the test."""
        result = TestResult() if result is None else result
        self._result = result
        result.startTest(self)
        method = getattr(self, self._method)
        reason = getattr(method, "skipped_because", getattr(self, "skipped_because", None))
        if reason is not None:
            result.addSkip(self, reason)
            return result
        problems = len(result.failures) + len(result.errors)
        try:
            self._run_steps(method)
        except SkipTest as error:
            result.addSkip(self, str(error))
        except Exception as error:  # noqa: BLE001 - it is the result of the test
            self._note_failure(result, error)
        else:
            if getattr(method, "is_expected_to_fail", False):
                result.unexpectedSuccesses.append(self)
                result.dot("u", "unexpected success")
            elif len(result.failures) + len(result.errors) == problems:
                result.addSuccess(self)
        return result

    def _note_failure(self, result: TestResult, error: Exception) -> None:
        if getattr(getattr(self, self._method), "is_expected_to_fail", False):
            result.expectedFailures.append((self, str(error)))
            result.dot("x", "expected failure")
        else:
            result.note(self, error)

    def _run_steps(self, method: Any) -> None:
        try:
            self.setUp()
            try:
                self._call(method)
            finally:
                self.tearDown()
        finally:
            self.doCleanups()

    def _call(self, method: Any) -> None:
        method()

    __call__ = run

    def __str__(self) -> str:
        return f"{self._method} ({self.id()})"

    def __repr__(self) -> str:
        return f"<__main__.{type(self).__qualname__} testMethod={self._method}>"


class IsolatedAsyncioTestCase(TestCase):
    """`unittest.IsolatedAsyncioTestCase`."""

    async def asyncSetUp(self) -> None:
        """Runs before each test."""

    async def asyncTearDown(self) -> None:
        """Runs after each test."""

    def _call(self, method: Any) -> None:
        async def steps() -> None:
            await self.asyncSetUp()
            try:
                outcome = method()
                if asyncio.iscoroutine(outcome):
                    await outcome
            finally:
                await self.asyncTearDown()

        asyncio.run(steps())


class _SubTest:
    """A part of a test that has failed."""

    def __init__(self, test_case: TestCase, description: str) -> None:
        self.test_case, self._text = test_case, description
        self.shortDescription = test_case.shortDescription

    def id(self) -> str:
        return f"{self.test_case.id()} {self._text}"

    def __str__(self) -> str:
        return f"{self.test_case} {self._text}"


def _description(test: Any) -> str:
    """The test, and the first line of its documentation."""
    line = test.shortDescription()
    return f"{test}\n{line}" if line else str(test)


class TestResult:
    """`unittest.TestResult`."""

    def __init__(self, stream: Any = None, verbosity: int = 0) -> None:
        self.stream, self.verbosity = stream, verbosity
        self.testsRun = 0
        self.failures: list[tuple[Any, str]] = []
        self.errors: list[tuple[Any, str]] = []
        self.skipped: list[tuple[Any, str]] = []
        self.expectedFailures: list[tuple[Any, str]] = []
        self.unexpectedSuccesses: list[Any] = []

    def wasSuccessful(self) -> bool:  # noqa: N802 - the library's name
        return not (self.failures or self.errors or self.unexpectedSuccesses)

    def startTest(self, test: Any) -> None:  # noqa: N802 - the library's name
        self.testsRun += 1
        if self.verbosity > 1:
            self._write(f"{_description(test)} ... ")

    def addSuccess(self, test: Any) -> None:  # noqa: N802 - the library's name
        del test
        self.dot(".", "ok")

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802 - the library's name
        self.skipped.append((test, reason))
        self.dot("s", f"skipped {reason!r}")

    def note(self, test: Any, error: BaseException) -> None:
        """A test has failed, or raised another error."""
        text = "".join(traceback.format_exception(error))
        if isinstance(test, _SubTest) and self.verbosity > 1:
            self._write(f"\n  {_description(test)} ... ")
        if isinstance(error, AssertionError):
            self.failures.append((test, text))
            self.dot("F", "FAIL")
        else:
            self.errors.append((test, text))
            self.dot("E", "ERROR")

    def dot(self, short: str, long: str) -> None:
        """Show how a test ended."""
        if self.verbosity > 1:
            self._write(f"{long}\n")
        elif self.verbosity:
            self._write(short)

    def __repr__(self) -> str:
        counts = f"errors={len(self.errors)} failures={len(self.failures)}"
        name = "result.TestResult" if self.stream is None else "runner.TextTestResult"
        return f"<unittest.{name} run={self.testsRun} {counts}>"

    def _write(self, text: str) -> None:
        if self.stream is not None:
            self.stream.write(text)


class TestSuite:
    """`unittest.TestSuite`."""

    def __init__(self, tests: Iterable[Any] = ()) -> None:
        self._tests = list(tests)

    def addTest(self, test: Any) -> None:  # noqa: N802 - the library's name
        self._tests.append(test)

    def addTests(self, tests: Iterable[Any]) -> None:  # noqa: N802 - the library's name
        self._tests += tests

    def countTestCases(self) -> int:  # noqa: N802 - the library's name
        return sum(test.countTestCases() for test in self._tests)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tests)

    def run(self, result: TestResult) -> TestResult:
        current: Any = None
        for test in self._tests:
            kind = None if isinstance(test, TestSuite) else type(test)
            if kind is not current:
                _leave(current)
                current = kind
                if kind is not None:
                    kind.setUpClass()
            test.run(result)
        _leave(current)
        return result

    __call__ = run


def _leave(kind: Any) -> None:
    if kind is not None:
        kind.tearDownClass()


class TestLoader:
    """`unittest.TestLoader`."""

    testMethodPrefix = "test"  # noqa: N815 - the library's name

    def getTestCaseNames(self, testCaseClass: Any) -> list[str]:  # noqa: N802, N803
        return [
            name for name in sorted(dir(testCaseClass)) if name.startswith(self.testMethodPrefix)
        ]

    def loadTestsFromTestCase(self, testCaseClass: Any) -> TestSuite:  # noqa: N802, N803
        return TestSuite(testCaseClass(name) for name in self.getTestCaseNames(testCaseClass))

    def loadTestsFromModule(self, module: Any = None) -> TestSuite:  # noqa: N802
        """All test cases of the program: there is no other module."""
        del module
        return TestSuite(self.loadTestsFromTestCase(kind) for kind in _test_cases(TestCase))


def _test_cases(base: Any) -> list[Any]:
    found = []
    for kind in base.__subclasses__():
        found += ([kind] if kind.__module__ == "__main__" else []) + _test_cases(kind)
    return list(dict.fromkeys(found))


defaultTestLoader = TestLoader()  # noqa: N816 - the library's name


class TextTestRunner:
    """`unittest.TextTestRunner`."""

    def __init__(self, stream: Any = None, descriptions: bool = True, verbosity: int = 1) -> None:
        del descriptions
        self.stream = sys.stderr if stream is None else stream
        self.verbosity = verbosity

    def run(self, test: Any) -> TestResult:
        """Run the tests and report."""
        result = TestResult(self.stream, self.verbosity)
        start = time.perf_counter()
        test.run(result)
        taken = time.perf_counter() - start
        write = self.stream.write
        if self.verbosity:
            write("\n")
        for kind, problems in (("ERROR", result.errors), ("FAIL", result.failures)):
            for one, text in problems:
                write(f"{'=' * 70}\n{kind}: {_description(one)}\n{'-' * 70}\n{text}\n")
        surprises = [
            f"UNEXPECTED SUCCESS: {_description(one)}\n" for one in result.unexpectedSuccesses
        ]
        write("".join([f"{'=' * 70}\n" if surprises else "", *surprises]))
        plural = "" if result.testsRun == 1 else "s"
        write(f"{'-' * 70}\nRan {result.testsRun} test{plural} in {taken:.3f}s\n\n")
        counts = {
            "failures": len(result.failures),
            "errors": len(result.errors),
            "skipped": len(result.skipped),
            "expected failures": len(result.expectedFailures),
            "unexpected successes": len(result.unexpectedSuccesses),
        }
        details = ", ".join(f"{name}={count}" for name, count in counts.items() if count)
        verdict = "OK" if result.wasSuccessful() else "FAILED"
        write(f"{verdict} ({details})\n" if details else f"{verdict}\n")
        return result


class TestProgram:
    """`unittest.main`: runs all test cases of the program."""

    def __init__(
        self,
        module: Any = None,
        argv: Any = None,
        verbosity: int = 1,
        exit: bool = True,  # noqa: A002 - the library's name
        **options: Any,
    ) -> None:
        del argv, options
        suite = defaultTestLoader.loadTestsFromModule(module)
        self.result = TextTestRunner(verbosity=verbosity).run(suite)
        if exit:
            sys.exit(not self.result.wasSuccessful())


main = TestProgram
