"""The steps of `caps run`, in a fresh process that reports when each step ended.

Started as a script with the program, the policy and a directory for the audit log; prints JSON.
"""

from __future__ import annotations

import time

BEGAN = time.perf_counter()


def main() -> None:
    """Run the steps of `src/cli/process.py` and `src/cli/commands/run.py`."""
    import importlib
    import json
    import os
    import sys
    from contextlib import ExitStack
    from pathlib import Path

    program, policy, audit = sys.argv[1:]
    marks = []

    def mark(step: str) -> None:
        marks.append((step, time.perf_counter() - BEGAN))

    from caps.cli.gc_pause import gc_paused
    from caps.cli.process import end_process
    from caps.worker.host.zygote.launch import prelaunched_zygote

    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # as the command does
    with prelaunched_zygote() as launched:
        mark("launch the zygote")
        with gc_paused():
            importlib.import_module("caps.cli.main")
            importlib.import_module("caps.cli.commands.run")
        mark("import the command line")
        with ExitStack() as opened:
            with gc_paused():
                from caps.capabilities.runtime.runtime import Runtime
                from caps.cli.telemetry import telemetry
                from caps.providers.builtin import builtin_registry
                from caps.worker.host.zygote.source import ZygoteSource

                mark("import the runtime")
                registry = builtin_registry()
                mark("register capabilities")
                workers = ZygoteSource(launched=launched)
                watching = opened.enter_context(telemetry(None, "127.0.0.1"))
                runtime = opened.enter_context(
                    Runtime(
                        policy,
                        registry=registry,
                        audit=audit,
                        workers=workers,
                        watch=False,
                        **watching,
                    )
                )
            mark("open: audit, policy, the rest of the zygote's start")
            runtime.run_sync(Path(program).read_text()).unwrap()
            mark("run")
        mark("close: workers, signed checkpoint")
    print(json.dumps(marks))
    end_process(0)


if __name__ == "__main__":
    main()
