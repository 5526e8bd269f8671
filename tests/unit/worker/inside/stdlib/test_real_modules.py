"""Loading real modules as the zygote does it, each time in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process

# What a zygote does before it confines itself, with a directory of modules that are not installed.
LOADING = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import caps.worker.inside.__main__
from caps.worker.inside.stdlib.real_modules import RealModuleError, load_real_modules
before = dict(os.environ)
try:
    found = {"offered": sorted(load_real_modules(tuple(sys.argv[2:])))}
except RealModuleError as error:
    found = {"module": error.module, "reason": error.reason}
found["environment"] = [name for name in os.environ if name not in before]
found["loaded"] = [name for name in sys.modules if sys.modules[name]]
print(json.dumps(found))
"""


class Installed:
    """A directory of modules."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def module(self, path: str, source: str = "") -> None:
        file = self._directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)

    def load(self, *names: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-I", "-c", LOADING, str(self._directory), *names],
            capture_output=True,
            text=True,
            env={},
            timeout=60,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


def test_a_package_comes_with_the_public_modules_in_it(installed: Installed) -> None:
    """Also those that it does not import itself; neither its insides nor its tests."""
    for path in ("__init__", "shown", "deep/__init__", "deep/deeper", "_inside"):
        installed.module(f"package/{path}.py")
    installed.module("package/tests/__init__.py", "raise SystemExit")
    installed.module("package/conftest.py", "raise SystemExit")
    installed.module("other.py")
    found = installed.load("package")
    assert found["offered"] == ["package", "package.deep", "package.shown"]
    assert not {"package.tests", "package.conftest", "other"} & set(found["loaded"])


def test_a_part_that_needs_what_is_not_installed_is_left_out(installed: Installed) -> None:
    """The rest of the package is there, as it would be for anybody."""
    installed.module("package/__init__.py")
    installed.module("package/part.py", "import something_else")
    installed.module("package/rest.py")
    assert installed.load("package")["offered"] == ["package", "package.rest"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "import something_else",
            "cannot be imported: ModuleNotFoundError: No module named 'something_else'",
        ),
        ("raise ValueError('one\\n  two')", "cannot be imported: ValueError: one two"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("def", "cannot be imported: SyntaxError: invalid syntax (broken.py, line 1)"),
    ],
)
def test_a_module_that_fails_is_named_with_one_line(
    installed: Installed, source: str, reason: str
) -> None:
    """Whatever it raises; the process continues and notifies the host."""
    installed.module("broken.py", source)
    found = installed.load("json", "broken")
    assert (found["module"], found["reason"]) == ("broken", reason)


def test_a_module_that_starts_threads_is_refused(installed: Installed) -> None:
    """A fork has one thread only, and whatever the others held stays locked in it."""
    installed.module(
        "threads.py",
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n",
    )
    found = installed.load("threads")
    assert found["module"] == "threads"
    assert "has started 1 threads" in found["reason"]


def test_numerical_libraries_are_told_to_start_no_threads(installed: Installed) -> None:
    """While they are loaded; afterwards the environment is what it was."""
    installed.module(
        "asks.py",
        "import os\n"
        "assert os.environ['OMP_NUM_THREADS'] == os.environ['OPENBLAS_NUM_THREADS'] == '1'\n"
        "os.environ['LEFT_BEHIND'] = '1'\n",
    )
    found = installed.load("asks")
    assert (found["offered"], found["environment"]) == (["asks"], [])


def test_a_module_that_brings_our_host_along_is_refused(installed: Installed) -> None:
    """No policy, provider or secret may be loaded next to untrusted code."""
    installed.module("plugin.py", "import caps.security.policy")
    found = installed.load("plugin")
    assert found["module"] == "plugin"
    assert "loads `caps.security`, which no worker may hold" in found["reason"]


def test_warnings_of_a_module_are_not_errors(installed: Installed) -> None:
    """They are for its developers, and nobody would read them here."""
    installed.module("warns.py", "import warnings\nwarnings.warn('old', DeprecationWarning)\n")
    assert installed.load("warns")["offered"] == ["warns"]


def test_typing_extensions_is_there_for_those_who_need_it(installed: Installed) -> None:
    """It is kept from other zygotes, which do without."""
    installed.module("typed.py", "import typing_extensions")
    assert installed.load("typed")["offered"] == ["typed"]


def test_without_a_grant_nothing_is_loaded_for_it(installed: Installed) -> None:
    """The ordinary zygote holds what it always held."""
    found = installed.load()
    assert found["offered"] == []
    assert not {"pkgutil", "typing_extensions", "numpy"} & set(found["loaded"])
