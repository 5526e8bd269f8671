"""What users do with well-known packages, in workers whose policy grants them: `packages/`."""

from __future__ import annotations

import importlib.metadata
import os

import pytest

from caps import MemoryAuditLog, PolicyInvalidError, Runtime
from support.package_files import PackageFile, package_files

FILES = package_files()


def require(file: PackageFile) -> None:
    """Skip if the package is not installed; where skips are forbidden, fail."""
    try:
        installed = importlib.metadata.version(file.package)
    except importlib.metadata.PackageNotFoundError:
        give_up = pytest.fail if os.environ.get("CAPS_FORBID_SKIPS") else pytest.skip
        give_up(f"`{file.package}` is not installed")
    assert installed == file.version, "the page names the pinned version"


def test_there_are_files_enough() -> None:
    """A directory that was moved would make all of this pass."""
    assert len(FILES) >= 15
    assert sum(len(file.cells) for file in FILES) >= 150


@pytest.mark.anyio
@pytest.mark.parametrize(
    "file", [file for file in FILES if not file.refused], ids=lambda file: file.name
)
async def test_a_package_does_what_its_page_says(file: PackageFile) -> None:
    """With the default limits of memory; a cell that cannot work fails as it says."""
    require(file)
    failures: list[str] = []
    policy = {"modules": file.modules, "limits": {"wall_ms": 60_000, "cpu_ms": 60_000}}
    async with (
        Runtime(policy, audit=MemoryAuditLog()) as runtime,
        runtime.session() as session,
    ):
        assert (await session.run(file.start)).ok
        for cell in file.cells:
            error = (await session.run(cell.source)).error
            found = "" if error is None else f"{error.type}: {error.message}"
            if (cell.error not in found) if cell.error else found:
                failures.append(f"{cell.title}: {found or 'it works'}")
    assert not failures


@pytest.mark.parametrize(
    "file", [file for file in FILES if file.refused], ids=lambda file: file.name
)
def test_a_package_that_cannot_be_loaded_is_refused_with_the_policy(file: PackageFile) -> None:
    """The message says why."""
    require(file)
    with (
        pytest.raises(PolicyInvalidError) as caught,
        Runtime({"modules": file.modules}, audit=MemoryAuditLog()),
    ):
        pass
    assert file.refused in caught.value.message
