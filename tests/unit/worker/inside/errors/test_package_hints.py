"""Hints for errors of real modules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caps.security.policies.modules import FACADE_MODULES, MACHINE_MODULES
from caps.worker.inside.errors import package_hints
from caps.worker.inside.errors.hints import hint_for
from caps.worker.inside.errors.package_hints import (
    hint_for_package,
    remember_modules,
)
from caps.worker.inside.facades.alternatives import remember_granted
from caps.worker.inside.packages.machine import NO_NETWORK, NO_PROCESS, NO_THREAD


class ConnectionFailedError(Exception):
    """As a package defines one."""


ConnectionFailedError.__module__ = "requests.exceptions"


@pytest.fixture(autouse=True)
def granted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`requests` is granted, and no function."""
    monkeypatch.setattr(package_hints, "_modules", set())
    remember_modules(["requests"])
    remember_granted("caps", [])
    yield
    remember_granted("caps", [])


def wrapped(error: BaseException) -> ConnectionFailedError:
    """The error as a package passes it on."""
    try:
        raise ConnectionFailedError("failed") from error
    except ConnectionFailedError as found:
        return found


def test_the_network_is_not_there_and_the_module_is_named() -> None:
    """Whatever the package made of the error."""
    hint = "`requests` is confined: only granted functions reach the network"
    assert hint_for(wrapped(PermissionError(1, NO_NETWORK))) == hint


def test_a_function_is_named_only_if_it_is_granted() -> None:
    """A hint must not lead to an error."""
    remember_granted("tools", ["web.fetch", "files.read"])
    found = hint_for_package(wrapped(PermissionError(1, NO_NETWORK)))
    assert found == "`requests` is confined: use `await tools.web.fetch(...)`"
    found = hint_for_package(FileNotFoundError(2, "No such file", "data.csv"))
    assert found is not None
    assert found.endswith("or `await tools.files.read(path=...)`")
    remember_granted("tools", [])
    assert "tools" not in str(hint_for_package(FileNotFoundError(2, "No such file", "data.csv")))


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (RuntimeError(NO_THREAD), "one process with one thread"),
        (PermissionError(1, NO_PROCESS), "one process with one thread"),
        (ModuleNotFoundError("x", name="multiprocessing.pool"), "one process with one thread"),
        (ModuleNotFoundError("x", name="lxml"), "add `lxml` to `modules`"),
        (ModuleNotFoundError("x", name="scipy.odd"), "add `scipy.odd` to `modules`"),
        (ModuleNotFoundError("x", name="urllib.request"), "there is no network here; only granted"),
        (ModuleNotFoundError("x", name="xml.dom.minidom"), "add `xml.dom.minidom` to `modules`"),
        (ModuleNotFoundError("x", name="pandas.plotting._matplotlib"), "add `matplotlib` to"),
        (PermissionError(1, "Operation not permitted", "out.csv"), "use `io.StringIO`"),
        (OSError("Failed to launch worker thread: no"), "`use_threads=False`"),
    ],
)
def test_each_kind_has_its_remedy(error: Exception, part: str) -> None:
    """What the sandbox lacks, and what to do."""
    assert part in str(hint_for_package(error))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("wrong"),
        KeyError(3),
        PermissionError(1, "Operation not permitted"),
        ModuleNotFoundError("x"),
        ModuleNotFoundError("`lxml` cannot be imported here; a policy can grant it", name="lxml"),
        RuntimeError(),
        OSError(b"Failed to launch worker thread"),
    ],
)
def test_other_errors_have_none(error: Exception) -> None:
    """Most errors have nothing to do with the sandbox."""
    assert hint_for_package(error) is None


@pytest.mark.parametrize("module", sorted(FACADE_MODULES | MACHINE_MODULES))
def test_no_hint_offers_what_no_policy_can_grant(module: str) -> None:
    """It would be refused."""
    for name in (module, f"{module}.part"):
        assert "to `modules`" not in str(hint_for_package(ModuleNotFoundError("x", name=name)))


@pytest.mark.parametrize(
    ("line", "function"),
    [
        ("df.to_csv('x.csv')", "write(path=..., content=...)"),
        ("plt.savefig('x.png')", "write(path=..., content=...)"),
        ("np.save('x.npy', a)", "write(path=..., content=...)"),
        ("table.write_parquet('x')", "write(path=..., content=...)"),
        ("pd.read_csv('x.csv')", "read(path=...)"),
        ("auto('x.csv')", "read(path=...)"),
        ("", "read(path=...)"),
    ],
)
def test_a_file_that_is_written_leads_to_the_function_that_writes(line: str, function: str) -> None:
    """As the line with the error says."""
    remember_granted("caps", ["files.read", "files.write"])
    found = hint_for(PermissionError(1, "Operation not permitted", "x.csv"), line)
    assert str(found).endswith(f", or `await caps.files.{function}`")


def test_without_real_modules_there_are_none() -> None:
    """The facades have messages of their own."""
    package_hints._modules.clear()
    assert hint_for_package(RuntimeError(NO_THREAD)) is None
