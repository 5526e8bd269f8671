"""The zygote's own warm-up: before it forks, it serves a few executions as its workers will.

Python specialises code in place when it has run often enough, for the very types that it met. So
the warm-up runs the functions of a worker on a worker's own types, from the first message to the
last. What is specialised here, a worker need not do; and specialised code touches fewer objects,
each of which may lie on a page that the worker has to copy.

The code is ours, and nothing remains of it: the channel has no descriptor, no limit is changed, and
the objects are collected.
"""

from __future__ import annotations

import gc
from typing import Final

from caps.worker.inside.confinement.rlimits import warm_up_limits
from caps.worker.inside.facades.alternatives import granted_name, remember_granted
from caps.worker.inside.language.compiler import compile_source, pack
from caps.worker.inside.runner.serve import WorkerTemplate, serve
from caps.worker.inside.runner.warmup import record_host_script, scripted_channel
from caps.worker.inside.zygote.fork_hooks import reseed

_TIMES: Final = 10  # Python specialises a function when it runs the ninth time
_SHORT: Final = "total = 1\nfor number in range(3):\n    total += number\ntotal"


def warm_up_zygote(warm_up_script: list[bytes]) -> None:
    """Serve code that was seen before, and new code that calls a capability."""
    program = pack(compile_source(_SHORT, "<warm-up>"))
    seen = record_host_script(_SHORT, program)[:1]
    gc.collect()
    for script in (seen, warm_up_script):
        for _ in range(_TIMES):
            gc.freeze()  # nothing of what is left is ever freed, so the collector need not look
            reseed()
            channel = scripted_channel(script)
            template = WorkerTemplate(warm_up_script, {}, restricted=True, channel=channel)
            template.queue_ready()
            template.space.enter()
            serve(template, warm_up_limits)
            del channel, template
            gc.collect()
    remember_granted("caps", ())
    granted_name("")  # reads these names, and so drops those of the warm-up
    gc.freeze()
