"""Runs programs with plain CPython, each in a fork of this process: sources in, outcomes out.

`python cpython_runs.py` reads a JSON list of sources, and writes a JSON list of what each printed
and how it ended. Imports only the library: the programs must not find what tests have loaded. The
modules that are named as arguments are imported once, before the forks.
"""

from __future__ import annotations

import importlib
import io
import json
import linecache
import os
import sys
import threading
import types
import warnings
from typing import Any


def outcome(source: str) -> tuple[str, str]:
    """What `source` printed, and `ok` or the error that it ended with. Runs in a fork."""
    printed = io.StringIO()
    sys.stdout = sys.stderr = printed
    sys.stdin, sys.argv = io.StringIO(), ["<agent>"]
    main = types.ModuleType("__main__")
    vars(main).update(__builtins__=__builtins__, __file__="<agent>")
    sys.modules["__main__"] = main
    linecache.cache["<agent>"] = (len(source), None, source.splitlines(keepends=True), "<agent>")
    # The `warnings` of user space show what code warns of, and not what the library does.
    warnings.filterwarnings("ignore", r"'asyncio\.iscoroutinefunction' is deprecated")
    end = "ok"
    try:
        exec(compile(source, "<agent>", "exec", dont_inherit=True), vars(main))
    except SystemExit as error:
        end = "ok" if error.code in (None, 0) else f"SystemExit: {error}"
    except BaseException as error:
        end = f"{type(error).__name__}: {error}"
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    return printed.getvalue(), end


def forked(source: str) -> Any:
    """The outcome of `source` in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with os.fdopen(write, "w") as channel:
            json.dump(outcome(source), channel)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as channel:
        text = channel.read()
    os.waitpid(child, 0)
    return json.loads(text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        importlib.import_module(name)
    json.dump([forked(source) for source in json.load(sys.stdin)], sys.stdout)
