"""Runs a command under a seccomp profile in the format of container engines.

`python -m support.seccomp_profile PROFILE COMMAND…`. The filter is in force for the command and
all of its children, as in a container without Linux capabilities.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pyseccomp

_COMPARISONS = {"SCMP_CMP_NE": pyseccomp.NE, "SCMP_CMP_EQ": pyseccomp.EQ}


def action_of(name: str, number: int | None) -> Any:
    if name == "SCMP_ACT_ALLOW":
        return pyseccomp.ALLOW
    assert name == "SCMP_ACT_ERRNO", name
    assert number is not None
    return pyseccomp.ERRNO(number)


def load(profile: dict[str, Any]) -> None:
    """Put this process under the profile. Raises if the profile cannot be understood."""
    rules = pyseccomp.SyscallFilter(action_of(profile["defaultAction"], profile["defaultErrnoRet"]))
    for rule in profile["syscalls"]:
        conditions = [
            pyseccomp.Arg(each["index"], _COMPARISONS[each["op"]], each["value"])
            for each in rule.get("args", ())
        ]
        action = action_of(rule["action"], rule.get("errnoRet"))
        for name in rule["names"]:
            if pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) >= 0:
                rules.add_rule(action, name, *conditions)
    rules.load()


if __name__ == "__main__":
    load(json.loads(Path(sys.argv[1]).read_text()))
    os.execv(sys.argv[2], sys.argv[2:])
