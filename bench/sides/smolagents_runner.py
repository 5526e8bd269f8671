"""A process that runs its input in smolagents and can be killed if it takes too long."""

from __future__ import annotations

import json
import sys

from smolagents import LocalPythonExecutor

_IMPORTS = ["collections", "functools", "json", "math", "re", "time"]


def main() -> None:
    """Run the program on standard input; print its result and time, or why it cannot run."""
    executor = LocalPythonExecutor(_IMPORTS, timeout_seconds=None)
    executor.send_tools({})
    try:
        value, seconds = executor(sys.stdin.read() + "(bench_value, bench_shortest)").output
    except Exception as error:  # noqa: BLE001 - for any error, the program cannot run here
        print(json.dumps({"refused": str(error) or type(error).__name__}))
        return
    print(json.dumps({"value": repr(value), "seconds": seconds}))


if __name__ == "__main__":
    main()
