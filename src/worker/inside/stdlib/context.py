"""(4) The context of one execution that replacements get when their module is first imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caps.worker.inside.channel.output import OutputStreams
from caps.worker.inside.language.compiler import Program
from caps.worker.inside.language.guards import AttributeGuards, OwnClasses


@dataclass(frozen=True, slots=True)
class StdlibContext:
    """One execution, as the standard library of its user space sees it."""

    own: OwnClasses
    output: OutputStreams = field(default_factory=OutputStreams)
    programs: Mapping[str, Program] = field(default_factory=dict)
    """The running programs by the file name in their frames; a session adds to it."""
    argv: list[str] = field(default_factory=lambda: [""])
    """`sys.argv`, which is filled in place: code may have imported it before."""
    shared: dict[str, Any] = field(default_factory=dict)
    """What a module and the runner share, under the name of the module."""

    @property
    def guards(self) -> AttributeGuards:
        """`getattr` and similar functions, under the rules of user space."""
        return AttributeGuards(self.own)
