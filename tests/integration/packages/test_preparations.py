"""The preparation of packages, in a process that is not confined, and what is left in a worker."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from caps import CapabilityRegistry, MemoryAuditLog, Runtime

# Loads what is granted as a zygote does, and prints what could not be prepared.
LOADING = """
import json, os, sys
import caps.worker.inside.__main__
from caps.worker.inside.stdlib.importer import load_facades
load_facades()
from caps.worker.inside.packages import preparation
failures = []
prepare = preparation.prepare
preparation.prepare = lambda table: failures.extend(prepare(table))
from caps.worker.inside.stdlib.real_modules import load_real_modules
home = set(os.listdir(os.path.expanduser("~")))
offered = load_real_modules(tuple(sys.argv[1:]))
print(json.dumps({
    "failures": [str(failure) for failure in failures],
    "loaded": [name for name in sys.modules if sys.modules[name]],
    "offered": list(offered),
    "home": sorted(set(os.listdir(os.path.expanduser("~"))) - home),
}))
"""


def load(*modules: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-I", "-W", "ignore", "-c", LOADING, *modules],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_every_preparation_succeeds_with_the_pinned_versions() -> None:
    """A part that was renamed, or an exercise that fails, would be left out silently."""
    found = load(
        *("dateutil", "jinja2", "matplotlib", "openpyxl", "pandas", "pyarrow", "requests"),
        *("scipy", "sklearn", "sympy"),
    )
    assert found["failures"] == []
    assert found["home"] == []


@pytest.mark.parametrize(
    ("granted", "absent"),
    [
        ("pandas", ["jinja2", "matplotlib", "openpyxl", "lxml", "scipy"]),
        ("sympy", ["matplotlib", "scipy"]),
        ("scipy.optimize", ["scipy.stats", "scipy.signal", "matplotlib"]),
    ],
)
def test_no_package_is_loaded_that_the_policy_does_not_grant(
    granted: str, absent: list[str]
) -> None:
    """A package loads what it imports itself; its preparation adds none."""
    loaded = load(granted)["loaded"]
    assert granted in loaded
    assert not set(absent) & set(loaded)


def test_a_part_is_offered_with_its_package_also_if_it_is_private() -> None:
    """The operator named it."""
    offered = load("sympy.core._print_helpers")["offered"]
    assert {"sympy", "sympy.core", "sympy.core._print_helpers"} <= set(offered)
    assert "sympy.core.basic" in offered
    assert not any("._" in name for name in offered if name != "sympy.core._print_helpers")


def error_of(source: str, *modules: str, **options: Any) -> Any:
    policy = {"modules": list(modules), **options.pop("policy", {})}
    with Runtime(policy, audit=MemoryAuditLog(), **options) as runtime:
        return runtime.run_sync(source).error


GET = "import requests\nrequests.get('http://127.0.0.1:9/', timeout=5)"


def test_the_network_is_refused_with_what_to_use_instead() -> None:
    """The code gets an error that it can handle, and nothing is killed."""
    error = error_of(GET, "requests")
    assert "the network cannot be reached from the sandbox" in error.message
    assert error.hint == "`requests` is confined: only granted functions reach the network"
    registry = CapabilityRegistry()

    @registry.capability("web.fetch")
    async def fetch(url: str) -> str:
        return url

    error = error_of(GET, "requests", registry=registry, policy={"allow": ["web.fetch"]})
    assert error.hint == "`requests` is confined: use `await caps.web.fetch(...)`"


@pytest.mark.parametrize(
    "source",
    [
        "np.f2py.sys.modules['threading'].Thread(target=print).start()",
        "np.f2py.os.fork()",
        "np.f2py.subprocess.run(['true'])",
    ],
)
def test_threads_and_processes_are_refused_without_a_kill(source: str) -> None:
    """A package may continue without them."""
    error = error_of(f"import numpy as np\n{source}", "numpy")
    assert "can't start" in error.message
    assert error.hint == (
        "a worker is one process with one thread; leave out `workers`, `n_jobs` and similar"
    )


def test_a_call_that_is_killed_names_the_modules() -> None:
    """If code makes the system call past the functions of Python."""
    error = error_of("import numpy as np\nnp.ctypeslib.ctypes.CDLL(None).socket(2, 1, 0)", "numpy")
    assert error.code == "protocol_error"
    assert "the code has the real modules `numpy`, and a worker has no network" in error.message


def test_what_modules_map_does_not_count_as_memory_of_the_code() -> None:
    """pandas alone maps more than the default limit; its code has the whole limit for itself."""
    build = "import pandas as pd\nlen(pd.DataFrame({'a': range(SIZE)}))"
    with Runtime({"modules": ["pandas"]}, audit=MemoryAuditLog()) as runtime:
        assert runtime.run_sync(build.replace("SIZE", "1_000_000")).unwrap() == 1_000_000
        error = runtime.run_sync("import pandas as pd\nbytearray(300 * 1024 * 1024)").error
    assert error is not None
    assert (error.code, error.type) == ("limit_exceeded", "MemoryError")
    assert "raise `limits.memory_mb`" in error.message
