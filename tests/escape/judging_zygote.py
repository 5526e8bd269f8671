"""The real zygote, whose workers find the judge's names among their builtins.

`python -I judging_zygote.py`, in place of `python -I -m caps.worker.inside`. All else is as it is
for users: every layer, the compiler, the facades, the channel, and the memory that everything is
loaded into.
"""

from __future__ import annotations

import os.path
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))

from caps.worker.inside.zygote.first_steps import take_first_steps

if __name__ == "__main__":
    first_steps = take_first_steps()

from caps.worker.inside import __main__ as _started_like_it  # noqa: F401 - what it leaves out
from caps.worker.inside.channel.output import CurrentStream
from caps.worker.inside.language.builtins_ import make_builtins
from caps.worker.inside.runner import user_space
from caps.worker.inside.zygote.server import main
from escape.loot import judged_names


def make_judged_builtins(stdout: CurrentStream, *others: Any) -> dict[str, Any]:
    def write(text: str) -> None:
        stdout.write(text)

    return {**make_builtins(stdout, *others), **judged_names(write)}


if __name__ == "__main__":
    vars(user_space)["make_builtins"] = make_judged_builtins
    main(first_steps)
