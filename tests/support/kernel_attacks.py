"""The attacks of `escape/kernel/` as data: what each file tries, and what has to stop it.

Every file is one attack. Its docstring says what it tries, its last expression is true if it
worked, and its marks say

- `# stopped: ...`, how exactly it has to end (a key of `ENDINGS`; `... or ...` where that depends
  on the C library), so that an attack which merely breaks proves nothing;
- `# alone: ...`, the layers of which each stops it with the others left out;
- `# control: works`, that the same file succeeds outside the sandbox, which is tested too;
- `# unsafe without <layer>: ...`, the layer that it never runs without, and why;
- `# only: ...`, the machine that it is for.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from caps.capabilities.runtime.result import ExecutionResult
from escape.attacks import HERE, Attack, attacks_on, harmless, limited, lost

_TOOLS = (HERE / "attack_tools.py").read_text()


@dataclass(frozen=True, slots=True)
class KernelAttack(Attack):
    """One file of `kernel/`."""

    @property
    def stopped_alone_by(self) -> tuple[str, ...]:
        """The layers of which each is enough."""
        return tuple((self.mark("alone") or "").split())

    @property
    def never_without(self) -> frozenset[str]:
        """The layers without which it could harm the machine."""
        return frozenset(re.findall(r"^# unsafe without (\w+): .+$", self.source, re.MULTILINE))

    @property
    def endings(self) -> list[str]:
        """How it may end."""
        return (self.mark("stopped") or "").split(" or ")

    def stopped(self, result: ExecutionResult) -> bool:
        """Whether it ended as it has to."""
        return any(ENDINGS[ending](result) for ending in self.endings)

    def program(self, host: Mapping[str, object]) -> str:
        """The attack with its tools, what it may look for, and the numbers of its system calls."""
        import pyseccomp

        machine = pyseccomp.system_arch()
        names = re.findall(r'raw\(\s*"(\w+)"', self.source)
        numbers = {name: pyseccomp.resolve_syscall(machine, name) for name in names}
        unknown = [name for name, number in numbers.items() if number < 0]
        assert unknown == [], f"libseccomp knows no {unknown}"
        return f"NUMBERS = {numbers}\nHOST = {dict(host)}\n{_TOOLS}\n{self.source}"


def _attacks() -> list[KernelAttack]:
    found = [KernelAttack(one.kind, one.name, one.path, one.source) for one in attacks_on("kernel")]
    return [attack for attack in found if attack.mark("only") in (None, platform.machine())]


ATTACKS = _attacks()


def worked(result: ExecutionResult) -> bool:
    """It ran to its end and got what it wanted."""
    return result.ok and bool(result.value)


def _killed(result: ExecutionResult) -> bool:
    return (
        result.status.value == "protocol_violation"
        and result.error is not None
        and result.error.details["violation"] == "forbidden_system_call"
    )


def _refused(result: ExecutionResult) -> bool:
    return result.error is not None and result.error.type == "PermissionError"


def _absent(result: ExecutionResult) -> bool:
    return result.error is not None and result.error.type == "FileNotFoundError"


# What the mark `stopped` may say, and how that shows.
ENDINGS: dict[str, Callable[[ExecutionResult], bool]] = {
    "killed": _killed,  # by the kernel, at the system call
    "refused": _refused,  # with EPERM, and the code continues
    "absent": _absent,  # there is nothing by that name
    "harmless": harmless,  # it ran to its end and got nothing
    "limited": limited,  # a limit of the policy ended it
    "lost": lost,  # it destroyed its own process, and nothing else
}
