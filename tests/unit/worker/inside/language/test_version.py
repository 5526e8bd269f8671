"""The version of the language layer changes with every source that affects compiled code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import RestrictedPython

from caps.worker import inside
from caps.worker.inside.language import version

(INSIDE,) = map(Path, inside.__path__)
ROOMS = sorted({file.parent.relative_to(INSIDE).as_posix() for file in INSIDE.rglob("*.py")})


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, as it is in the project."""
    copy = tmp_path_factory.mktemp("sources") / "inside"
    shutil.copytree(INSIDE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.mark.parametrize("room", ROOMS)
def test_a_changed_file_in_any_room_changes_the_digest(copied: Path, room: str) -> None:
    """However deep the folder is; the same sources have the same digest."""
    before = version.digest_of(str(copied))
    assert before == version.digest_of(str(INSIDE))
    changed = max((copied / room).glob("*.py"))
    source = changed.read_bytes()
    changed.write_bytes(source + b"# changed\n")
    after = version.digest_of(str(copied))
    changed.write_bytes(source)
    assert after != before


def test_the_digest_covers_our_sources_and_those_of_restricted_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both packages in full, and nothing else."""
    covered: list[str] = []

    def record(*packages: str) -> bytes:
        covered.extend(packages)
        return b""

    monkeypatch.setattr(version, "digest_of", record)
    version.sources_digest.__wrapped__()
    assert covered == [str(INSIDE), str(Path(RestrictedPython.__file__).parent)]
