"""Modules of the library that run in user space."""

from __future__ import annotations

import queue
import sys
from textwrap import dedent
from typing import Any

import pytest

from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.stdlib.importer import Importer
from caps.worker.inside.stdlib.user_modules.loader import load_sources
from caps.worker.inside.stdlib.user_modules.table import HIDDEN_MODULES, USER_MODULES
from support.language_programs import run


def printed(source: str) -> str:
    return run(dedent(source)).printed


def test_every_module_has_its_source() -> None:
    """They are held as bytes: words in a string would count as names of loaded libraries."""
    sources = load_sources()
    assert sources.keys() == {*USER_MODULES, *HIDDEN_MODULES}
    assert all(type(source) is bytes for source in sources.values())


# Names of `configparser` by the version that added them, of those that this version lacks.
_NEWER = {
    (3, 13): ("MultilineContinuationError", "UNNAMED_SECTION"),
    (3, 14): ("InvalidWriteError", "UnnamedSectionDisabledError"),
}
_LACKING = {
    "configparser": [
        name for added, names in _NEWER.items() if sys.version_info < added for name in names
    ]
}


@pytest.mark.parametrize("module", USER_MODULES)
def test_every_module_loads_with_all_its_names(module: str) -> None:
    """What the table names exists, and shows the module as its home."""
    names = [name for name in USER_MODULES[module].split() if name not in _LACKING.get(module, ())]
    values: list[Any] = run(f"from {module} import {', '.join(names)}\n[{', '.join(names)}]").value
    assert len(values) == len(names)
    assert all(value.__module__ != "__main__" for value in values if isinstance(value, type))


def test_a_module_is_loaded_once_and_belongs_to_its_execution() -> None:
    """Two imports give one module; another execution has another one."""
    assert run("import queue as a\nimport queue as b\na is b").value
    first = run("import logging\nlogging.getLogger('x').setLevel(10)\nlogging.getLogger('x').level")
    second = run("import logging\nlogging.getLogger('x').level")
    assert (first.value, second.value) == (10, 0)


def test_a_submodule_appears_in_its_parent() -> None:
    """By every form of the import statement."""
    assert run("import html\nfrom html import parser\nparser.HTMLParser.__name__").value
    assert run("import html.parser\n(html.escape('<'), html.parser.HTMLParser.__name__)").value
    assert run("import concurrent.futures as f\nf.Future().done()").value is False


def test_logging_goes_to_the_captured_output() -> None:
    """Warnings without any set-up, and all of a set-up's levels, with the program's own lines."""
    assert printed("import logging\nlogging.getLogger('a').warning('x %d', 1)") == "x 1\n"
    assert printed("import logging\nlogging.warning('x')\nlogging.info('y')") == "WARNING:root:x\n"
    source = """
    import logging, sys
    place = "%(lineno)d %(funcName)s %(message)s"
    logging.basicConfig(level="DEBUG", stream=sys.stdout, format=place)
    def f():
        logging.getLogger("a.b").debug("here")
    f()
    """
    assert printed(source) == "6 f here\n"


def test_a_format_of_a_log_record_reads_no_attributes() -> None:
    """A formatter gets the fields of the record, and nothing behind them."""
    source = """
    import logging
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("{message.__class__}", style="{"))
    logging.getLogger().addHandler(handler)
    logging.warning("x")
    """
    assert "a format cannot read attributes" in printed(source)


def test_the_error_of_a_thread_is_printed_and_ends_only_the_thread() -> None:
    """With the lines of the program, as in Python."""
    source = """
    import threading
    def fail():
        raise ValueError("no")
    t = threading.Thread(target=fail)
    t.start()
    t.join()
    print("on")
    """
    text = printed(source)
    assert text.startswith("Exception in thread Thread-1 (fail):\nTraceback")
    assert 'raise ValueError("no")' in text
    assert text.endswith("ValueError: no\non\n")


@pytest.mark.parametrize(
    "wait",
    [
        "threading.Event().wait()",
        "lock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        "threading.Semaphore(0).acquire()",
        "threading.Condition().wait()",
        "q = queue.Queue(1)\nq.put(1)\nq.put(2)",
        "q = queue.Queue()\nq.put(1)\nq.join()",
        "concurrent.futures.Future().result()",
    ],
)
def test_a_wait_that_cannot_end_is_an_error(wait: str) -> None:
    """Not a deadlock that only a limit ends."""
    with pytest.raises(RuntimeError, match="would wait forever"):
        run(f"import threading, queue, concurrent.futures\n{wait}")


def test_a_wait_with_a_timeout_ends() -> None:
    """With the answer that it has in Python."""
    source = """
    import threading, queue
    lock = threading.Lock()
    lock.acquire()
    try:
        queue.Queue().get(timeout=0)
    except queue.Empty:
        print(lock.acquire(timeout=0), lock.acquire(blocking=False), threading.Event().wait(0))
    """
    assert printed(source) == "False False False\n"


def test_arguments_come_from_the_command_line_and_help_ends_the_program() -> None:
    """A wrong argument prints the usage and exits with the status 2."""
    with pytest.raises(SystemExit) as caught:
        run("import argparse\nargparse.ArgumentParser().parse_args(['--help'])")
    assert caught.value.code == 0
    with pytest.raises(SystemExit) as caught:
        run("import argparse\nargparse.ArgumentParser().parse_args(['--nothing'])")
    assert caught.value.code == 2
    assert run("import argparse\nvars(argparse.ArgumentParser().parse_args())").value == {}


def test_the_main_of_unittest_runs_the_test_cases_of_the_program() -> None:
    """Subclasses count, too; the report goes to the output, and a failure is the exit status."""
    source = """
    import asyncio, unittest
    class A(unittest.IsolatedAsyncioTestCase):
        async def asyncSetUp(self):
            self.n = 1
        async def test_a(self):
            await asyncio.sleep(0)
            self.assertEqual(self.n, 1)
    class B(A):
        def test_b(self):
            self.assertTrue(self.{outcome})
        def test_c(self):
            with self.assertWarns(UserWarning):
                import warnings
                warnings.warn("x")
    """
    good = dedent(source).replace("self.{outcome}", "True")
    text = run(f"{good}\nunittest.main(exit=False, verbosity=2)").printed
    assert "test_b (__main__.B.test_b) ... ok\n" in text
    assert "Ran 4 tests in " in text
    assert text.endswith("\n\nOK\n")
    with pytest.raises(SystemExit) as caught:
        run(dedent(source).replace("self.{outcome}", "False") + "\nunittest.main()")
    assert caught.value.code == 1


def test_a_real_module_that_the_policy_grants_replaces_ours() -> None:
    """The operator has decided that code gets the library's own."""
    importer = Importer(OwnClasses(), {}, real={"queue": queue})
    assert importer("queue", {"__builtins__": {}}) is queue
