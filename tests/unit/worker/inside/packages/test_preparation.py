"""Preparing packages: which parts are loaded, and what happens to those that fail."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from caps.worker.inside.packages.preparation import Failure, Preparation, prepare

FILES = {
    "__init__.py": "",
    "plain.py": "",
    "_private.py": "",
    "broken.py": "import something_else",
    "conftest.py": "raise SystemExit",
    "tests/__init__.py": "raise SystemExit",
    "deep/__init__.py": "",
    "deep/deeper.py": "",
    "deep/skipped.py": "raise SystemExit",
    "broken_package/__init__.py": "raise ValueError('no')",
    "broken_package/part.py": "",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that is loaded, and of which no part is."""
    for name, source in FILES.items():
        path = tmp_path / "sample_package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    __import__("sample_package")
    yield "sample_package"
    for name in [name for name in sys.modules if name.startswith("sample_package")]:
        del sys.modules[name]


def loaded() -> set[str]:
    return {name.partition(".")[2] for name in sys.modules if name.startswith("sample_package.")}


def test_everything_below_a_package_is_loaded_but_for_its_tests(package: str) -> None:
    """Private parts, too: it is the package that imports them. What fails is left out."""
    found = prepare(
        [Preparation(package=package, parts=f"{package}.*", skipped=f"{package}.deep.skipped")]
    )
    assert loaded() == {"plain", "_private", "deep", "deep.deeper"}
    assert found == [
        Failure(
            package, f"{package}.broken", "ModuleNotFoundError: No module named 'something_else'"
        ),
        Failure(package, f"{package}.broken_package", "ValueError: no"),
    ]


def test_a_part_can_be_named_alone(package: str) -> None:
    """Nothing next to it is loaded."""
    assert prepare([Preparation(package=package, parts=f"{package}.deep.deeper")]) == []
    assert loaded() == {"deep", "deep.deeper"}


def test_a_package_that_is_not_loaded_is_not_prepared(package: str) -> None:
    """Nor one that needs another package: neither is loaded for it."""
    exercised: list[str] = []
    for needs in ({"package": "not_loaded"}, {"package": package, "needs": ("not_loaded",)}):
        preparation = Preparation(
            parts=f"{package}.plain",
            exercises=(lambda: exercised.append("exercised"),),
            **needs,
        )
        assert prepare([preparation]) == []
    assert (loaded(), exercised) == (set(), [])


def test_an_exercise_that_fails_does_not_keep_the_next_from_running(package: str) -> None:
    """Another version of the package may lack what one of them uses."""
    exercised: list[str] = []

    def fail() -> None:
        raise AttributeError("no attribute `to_frame`")

    def succeed() -> None:
        exercised.append("exercised")

    (failure,) = prepare([Preparation(package=package, exercises=(fail, succeed))])
    assert failure == Failure(package, "fail", "AttributeError: no attribute `to_frame`")
    assert exercised == ["exercised"]
