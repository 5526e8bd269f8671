"""(4) What packages learn about the machine: one processor, no network, no threads, no processes.

The kernel kills a worker that opens a socket, or starts a thread or a process. That is the
boundary; here is only a better answer for packages that try. Python functions that lead there raise
an OSError or a RuntimeError instead, which the code can handle, and which says what is missing.
Code that makes the system call in another way is still killed.

Called in the zygote, after all packages are loaded. Workers inherit the functions.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Any, NoReturn

NO_NETWORK = "the network cannot be reached from the sandbox"
NO_THREAD = "can't start new thread: a worker has one thread"
NO_PROCESS = "can't start a process: a worker is one process"


def describe_machine() -> None:
    """Replace the functions, in all modules that have them."""
    os.cpu_count = _one_processor
    _replace("os", "process_cpu_count", _one_processor)  # since Python 3.13
    os.sched_getaffinity = _first_processor
    for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp", "system", "popen"):
        setattr(os, name, _refuse_process)
    _replace("threading", "_start_new_thread", _refuse_thread)
    _replace("threading", "_start_joinable_thread", _refuse_thread)  # since Python 3.13
    for name in ("start_joinable_thread", "start_new", "start_new_thread"):
        _replace("_thread", name, _refuse_thread)
    _replace("_posixsubprocess", "fork_exec", _refuse_process)
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "socketpair"):
        _replace("socket", name, _refuse_network)
    # joblib asks other programs for it, and prints the error with the paths of the host.
    _replace("joblib.externals.loky.backend.context", "physical_cores_cache", 1)
    for module, kind, refuse in (
        ("socket", "socket", _refuse_network),
        ("subprocess", "Popen", _refuse_process),
    ):
        loaded: Any = sys.modules.get(module)
        if loaded is not None:
            getattr(loaded, kind).__init__ = refuse


def _replace(module: str, name: str, function: object) -> None:
    loaded = sys.modules.get(module)
    if hasattr(loaded, name):
        setattr(loaded, name, function)


def _one_processor() -> int:
    return 1


def _first_processor(_pid: int) -> set[int]:
    return {0}


def _refuse_network(*_args: object, **_keywords: object) -> NoReturn:
    raise PermissionError(errno.EPERM, NO_NETWORK)


def _refuse_thread(*_args: object, **_keywords: object) -> NoReturn:
    raise RuntimeError(NO_THREAD)


def _refuse_process(*_args: object, **_keywords: object) -> NoReturn:
    raise PermissionError(errno.EPERM, NO_PROCESS)
