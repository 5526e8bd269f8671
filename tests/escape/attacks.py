"""Attacks as data: one file each; to add an attack, add a file.

A file begins with a docstring that says what it tries. Its marks, `# name: ...` on lines of their
own, say how it must end; every file has `# stopped: ...`. Then comes the program. The test of each
layer lists the other marks, and the names that a program can use.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from caps import MemoryAuditLog, Runtime
from caps.capabilities.runtime.result import ExecutionResult
from caps.protocol.enforcement import missing_layers
from caps.worker.host.zygote.source import ZygoteSource

HERE = Path(__file__).parent
LAYERS = ("language", "kernel", "channel")
POLICY: dict[str, Any] = {
    "id": "escape",
    "allow": [],
    "limits": {"wall_ms": 10_000, "cpu_ms": 1000, "memory_mb": 256},
}


@dataclass(frozen=True, slots=True)
class Attack:
    """One file. `kind` is the class of attacks that it belongs to."""

    kind: str
    name: str
    path: Path
    source: str

    def __str__(self) -> str:
        return self.name

    @property
    def tries(self) -> str | None:
        """The docstring; by its text, for not every program can be parsed."""
        found = re.match(r'(?:#.*\n)?"""([^"]+)"""\n', self.source)
        return None if found is None else found[1]

    def mark(self, name: str) -> str | None:
        return next(iter(self.marks_of(name)), None)

    def marks_of(self, name: str) -> list[str]:
        """All marks of this name."""
        return re.findall(rf"^# {name}: (.+)$", self.source, re.MULTILINE)

    @property
    def marks(self) -> set[str]:
        """The names of all marks; a comment of another form is not a mark."""
        return set(re.findall(r"^# ([a-z]+): ", self.source, re.MULTILINE))


def attacks_on(layer: str) -> list[Attack]:
    """All attacks of one layer. Their class is a directory, or what their name begins with."""
    found = []
    for path in sorted((HERE / layer).rglob("*.py")):
        inside = path.relative_to(HERE / layer).with_suffix("")
        kind = inside.parts[0] if len(inside.parts) > 1 else inside.name.partition("_")[0]
        # As it is on disk: an attack may need its own kind of line ends.
        found.append(Attack(kind, inside.as_posix(), path, path.read_bytes().decode()))
    return found


@contextmanager
def locked_down(
    source: ZygoteSource, *, off: Sequence[str] = (), policy: Mapping[str, Any] = POLICY
) -> Iterator[Runtime]:
    """A runtime whose workers are confined by every layer except those that are `off`.

    Without these layers a test would prove nothing: it is skipped, or fails if skips are forbidden.
    """
    audit = MemoryAuditLog()
    with Runtime(policy, audit=audit, workers=source, isolation="best-effort") as runtime:
        missing = [layer for layer in missing_layers(runtime.layers) if layer.name not in off]
        if missing:
            reason = "; ".join(f"{layer.name}: {layer.detail}" for layer in missing)
            give_up = pytest.fail if os.environ.get("CAPS_FORBID_SKIPS") else pytest.skip
            give_up(f"the escape suite needs every kernel layer, and this system lacks {reason}")
        yield runtime


# Endings that attacks on every layer may have.


def harmless(result: ExecutionResult) -> bool:
    """It ran to its end and got nothing."""
    return result.ok and not result.value


def limited(result: ExecutionResult) -> bool:
    """A limit of the policy ended it."""
    return result.status.value == "limit"


def lost(result: ExecutionResult) -> bool:
    """It destroyed its own process, and nothing else."""
    return result.status.value == "worker_lost"
