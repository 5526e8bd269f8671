"""What `caps run` does, step by step, in a fresh process that says when each step was over.

Started as a script with the program, the policy and a directory for the audit; prints JSON.
"""

from __future__ import annotations

import time

BEGAN = time.perf_counter()


def main() -> None:
    """Take the steps; the command line's own are those of `src/cli/run.py`."""
    import importlib
    import json
    import os
    import sys
    from pathlib import Path

    program, policy, audit = sys.argv[1:]
    marks = []

    def mark(step: str) -> None:
        marks.append((step, time.perf_counter() - BEGAN))

    importlib.import_module("caps.cli.main")
    from caps.cli.gc_pause import loading

    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # as the command does
    with loading():
        importlib.import_module("caps.cli.run")
    from caps.worker.host.zygote.launch import launched_ahead

    mark("import the command line")
    with launched_ahead() as launched:
        mark("launch the zygote")
        with loading():
            from caps.capabilities.runtime.runtime import Runtime
            from caps.cli.telemetry import telemetry
            from caps.providers.builtin import builtin_registry
            from caps.worker.host.zygote.source import ZygoteSource
        mark("import the runtime")
        registry = builtin_registry()
        mark("register capabilities")
        workers = ZygoteSource(launched=launched)
        with (
            telemetry(None, "127.0.0.1") as watching,
            Runtime(
                policy, registry=registry, audit=audit, workers=workers, watch=False, **watching
            ) as runtime,
        ):
            mark("open: audit, policy, the rest of the zygote's start")
            runtime.run_sync(Path(program).read_text()).unwrap()
            mark("run")
        mark("close: workers, signed checkpoint")
    print(json.dumps(marks))


if __name__ == "__main__":
    main()
