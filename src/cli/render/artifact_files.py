"""Writing the artifacts of a run into a directory.

Their names are chosen by untrusted code. Each file is created new, directly in the directory:
nothing is overwritten, no symbolic link is followed, and a name that is taken gets a number.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from caps.cli.exits import ExitCode, fail

if TYPE_CHECKING:
    from caps.capabilities.artifacts import Artifact

_MAX_NUMBER = 10_000
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ArtifactDirectory:
    """The directory of `--artifacts`, opened before the code runs, so that it stays the same."""

    def __init__(self, path: Path) -> None:
        """Make the directory if it does not exist; ends the command if it cannot be used."""
        self._path = path
        try:
            path.mkdir(exist_ok=True)
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            fail(f"`{path}` cannot hold artifacts: {_reason(error)}", ExitCode.BAD_USAGE)

    def write(self, artifacts: Sequence[Artifact]) -> list[Path]:
        """Write all of them, and return their files; ends the command if one cannot be written."""
        found = []
        for artifact in artifacts:
            try:
                found.append(self._path / self._write(artifact))
            except OSError as error:
                fail(
                    f"artifact `{artifact.name}` cannot be written to `{self._path}`: "
                    f"{_reason(error)}",
                    ExitCode.HOST_FAILED,
                )
        return found

    def _write(self, artifact: Artifact) -> str:
        from caps.capabilities.artifacts import name_problem

        if name_problem(artifact.name) is not None:  # the store has checked it; this is the door
            raise OSError(errno.EINVAL, "the name is not that of a file")
        for name in _names(artifact.name):
            try:
                descriptor = os.open(name, _NEW_FILE, 0o666, dir_fd=self._descriptor)
            except FileExistsError:
                continue
            with os.fdopen(descriptor, "wb") as file:
                file.write(artifact.content)
            return name
        raise OSError(errno.EEXIST, "too many files have this name")


def _names(name: str) -> Iterator[str]:
    """`plot.png`, `plot-2.png`, `plot-3.png`, …"""
    yield name
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    for number in range(2, _MAX_NUMBER):
        yield f"{stem}-{number}{dot}{ending}"


def _reason(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) else None
    return (text or "it is not a path").lower()
