"""Reads a Dockerfile: its instructions, with what follows each."""

from __future__ import annotations

from typing import NamedTuple

INSTRUCTIONS = frozenset(
    "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL ONBUILD RUN SHELL STOPSIGNAL "
    "USER VOLUME WORKDIR".split()
)


class Instruction(NamedTuple):
    name: str
    value: str


def read_dockerfile(text: str) -> list[Instruction]:
    """Raises ValueError for what is not an instruction, or a line that goes on into nothing."""
    found: list[Instruction] = []
    pending = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#") or (not stripped and not pending):
            continue
        if stripped.endswith("\\"):
            pending += stripped[:-1].rstrip() + " "
            continue
        name, _, value = (pending + stripped).partition(" ")
        pending = ""
        if name not in INSTRUCTIONS or not value.strip():
            raise ValueError(f"not an instruction: `{name}`")
        found.append(Instruction(name, value.strip()))
    if pending:
        raise ValueError("the last line goes on")
    if not found or found[0].name not in ("FROM", "ARG"):
        raise ValueError("a Dockerfile begins with FROM")
    return found
