"""The tests of CPython that are expected to end differently in the sandbox, with the reasons.

`cpython/reasons.toml` has the reasons. `cpython/<version>/<module>.toml` has the tests, by reason.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support.cpython.runs import Outcome
from support.cpython.sources import find_file

HERE = Path(__file__).parents[2] / "cpython"
# The reason of tests that fail at times in CPython, too: they may end either way.
UNSTEADY = "unsteady"
RECORDED = HERE / f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why tests end differently."""

    key: str
    title: str
    why: str
    matches: tuple[str, ...]

    def explains(self, outcome: Outcome) -> bool:
        """Whether a test that ends like this is of this kind."""
        ended = f"{outcome.outcome}: {outcome.reason}"
        return any(re.search(pattern, ended) for pattern in self.matches)


def reasons() -> dict[str, Reason]:
    """All of them, by key."""
    found = tomllib.loads((HERE / "reasons.toml").read_text())
    return {
        key: Reason(key, one["title"], one["why"], tuple(one.get("matches", ())))
        for key, one in found.items()
    }


def modules(recorded: Path = RECORDED) -> list[str]:
    """The modules of the package `test` whose differences are recorded for this Python."""
    return sorted(file.stem for file in recorded.glob("*.toml"))


def every_version() -> list[Path]:
    """The directories of the versions that have lists, oldest first."""
    return sorted(HERE.glob("3.*"), key=lambda path: int(path.name.partition(".")[2]))


def modules_of_any_version() -> list[str]:
    """The modules whose differences are recorded for some Python, and that this one has."""
    names = {name for recorded in every_version() for name in modules(recorded)}
    return sorted(name for name in names if find_file(name) is not None)


def _reasons_so_far(module: str) -> dict[str, str]:
    """The key of the reason, by test: of this Python, and else of another one."""
    found: dict[str, str] = {}
    for recorded in [*every_version(), RECORDED]:
        if module in modules(recorded):
            found |= expected(module, recorded)
    return found


def expected(module: str, recorded: Path = RECORDED) -> dict[str, str]:
    """The key of the reason, by test."""
    found: Mapping[str, list[str]] = tomllib.loads((recorded / f"{module}.toml").read_text())
    return {test: key for key, tests in found.items() for test in tests}


def problems(module: str, outcomes: Iterable[Outcome]) -> dict[str, str]:
    """What is not as recorded, by test: a difference that is new, and one that is gone."""
    listed, known = expected(module), reasons()
    ended = {one.test: one for one in outcomes}
    found = {test: f"`{key}` is not a reason" for test, key in listed.items() if key not in known}
    for test in listed.keys() - ended.keys():
        found[test] = "it is listed, but there is no such test"
    for test, one in ended.items():
        if listed.get(test) == UNSTEADY:
            continue
        if one.is_different and test not in listed:
            found[test] = f"it is not listed: {one.outcome}, {one.reason}"
        elif not one.is_different and test in listed:
            found[test] = f"it is listed, but it {one.outcome}"
    return found


def record(module: str, outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Write the list of a module; known tests keep their reason. Returns those without one."""
    path = RECORDED / f"{module}.toml"
    listed = _reasons_so_far(module)
    known = reasons()
    by_key: dict[str, list[str]] = {key: [] for key in known}
    ended = list(outcomes)
    by_key[UNSTEADY] = [one.test for one in ended if listed.get(one.test) == UNSTEADY]
    unexplained = []
    for one in ended:
        if not one.is_different or one.test in by_key[UNSTEADY]:
            continue
        proposed = next((key for key, reason in known.items() if reason.explains(one)), None)
        key = listed.get(one.test, proposed)
        if key is None:
            unexplained.append(one)
        else:
            by_key[key].append(one.test)
    path.parent.mkdir(exist_ok=True)
    path.write_text(_toml(module, by_key))
    return unexplained


def _toml(module: str, by_key: Mapping[str, list[str]]) -> str:
    parts = [f"# The tests of `test.{module}` that end differently in the sandbox, by reason.\n"]
    for key, tests in by_key.items():
        if tests:
            lines = "".join(f'    "{test}",\n' for test in sorted(tests))
            parts.append(f"{key} = [\n{lines}]\n")
    return "\n".join(parts)
