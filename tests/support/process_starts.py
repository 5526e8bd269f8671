"""Tests that start a process carry the marker `process`; a test without it cannot start one.

`pytest -m "not process"` selects the tests that start none. All tests below `integration/` get the
marker by their place; all others carry it in the source. An audit hook of the interpreter refuses
the start of a process in a test without the marker, and that test fails.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

_INTEGRATION = Path(__file__).parents[1] / "integration"
# The events are those of the interpreter: see "Audit events table" in the documentation of Python.
_STARTS = frozenset(
    {"os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
)


class ProcessStarts:
    """A pytest plugin; `conftest.py` registers it once."""

    def __init__(self) -> None:
        self._forbidden = False
        self._count = 0
        self._fixtures: set[object] = set()  # those in use that started a process
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if event in _STARTS:
            self._count += 1
            if self._forbidden:
                raise RuntimeError(f"`{event}` in a test without the marker `process`")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        for item in items:
            if item.path.is_relative_to(_INTEGRATION):
                item.add_marker(pytest.mark.process)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        yield from self._watch(item)
        if item.get_closest_marker("process") is None and self._needs_process(item):
            pytest.fail("a fixture of the test started a process: mark it with `process`")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        yield from self._watch(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        before = self._count
        value = yield
        if self._count > before:
            self._fixtures.add(fixturedef)
        return value

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        self._fixtures.discard(fixturedef)

    def _watch(self, item: pytest.Item) -> Generator[None, None, None]:
        """Refuse process starts while a phase of the test runs, unless it is marked.

        The tested code may catch the error that the hook raises, hence the count. Teardown is not
        watched: it may be that of a fixture which other tests shared.
        """
        before = self._count
        self._forbidden = item.get_closest_marker("process") is None
        try:
            yield
        finally:
            forbidden, self._forbidden = self._forbidden, False
        if forbidden and self._count > before:
            pytest.fail("the test started a process: mark it with `process`")

    def _needs_process(self, item: pytest.Item) -> bool:
        """Whether a fixture of the test, started for another one perhaps, started a process."""
        if not isinstance(item, pytest.Function):
            return False
        definitions = item._fixtureinfo.name2fixturedefs
        return any(one in self._fixtures for name in definitions for one in definitions[name])
