"""(4) What the stand-ins of one execution share; each gets it when its module is first imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from caps.worker.inside.language.compiler import Program
from caps.worker.inside.language.guards import AttributeGuards, OwnClasses
from caps.worker.inside.channel.output import Output


@dataclass(frozen=True, slots=True)
class Surroundings:
    """One execution, as the standard library of its user space sees it."""

    own: OwnClasses
    output: Output = field(default_factory=Output)
    programs: Mapping[str, Program] = field(default_factory=dict)
    """What runs, by the file name that its frames carry; a session adds to it."""

    @property
    def guards(self) -> AttributeGuards:
        """`getattr` and its kin under the rules of user space."""
        return AttributeGuards(self.own)
