"""The keeper of an MCP server's process: starts it, confined if wanted, and ends all of it.

    python -I -m caps.mcp.child.keeper <descriptor>

The descriptor is a socket to the host, and the server's life: the first line on it says what to
start, and when it is closed, by the host or because the host is gone, every descendant is killed.
The keeper adopts orphans, so a server cannot leave a process behind by forking twice.

Reports are lines of JSON: `{"pid": 1}` or `{"error": "..."}` first, then `{"exit": 0}`.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import Any, Final

from caps.worker.inside.confinement import linux
from caps.worker.inside.confinement.paths import SYSTEM, confine_to_paths, existing

_MAX_SPEC_BYTES: Final = 4 * 1024 * 1024
_DESCRIPTORS: Final = 4096
_KILL_SECONDS: Final = 5.0
_FAILED: Final = 127


def main() -> None:
    """Runs with the host's rights; the child that it forks gives up what the spec says."""
    lifeline = socket.socket(fileno=int(sys.argv[1]))
    lifeline.set_inheritable(False)
    os.setpriority(os.PRIO_PROCESS, 0, 5)
    linux.adopt_orphans()
    spec = _read_spec(lifeline)
    if spec is None:
        return
    failed, report = os.pipe()  # closed by a successful exec
    child = os.fork()
    if child == 0:
        os.close(failed)
        _become_server(spec, report)
    os.close(report)
    for descriptor in (0, 1, 2):  # else the bridge would never see the end of the server's output
        os.close(descriptor)
    with os.fdopen(failed, "rb") as pipe:
        reason = pipe.read(4096).decode("utf-8", "replace")
    _say(lifeline, {"error": reason} if reason else {"pid": child})
    if not reason:
        _watch(lifeline, child)
    _kill_descendants()


def _read_spec(lifeline: socket.socket) -> dict[str, Any] | None:
    data = b""
    while not data.endswith(b"\n") and len(data) < _MAX_SPEC_BYTES:
        received = lifeline.recv(65536)
        if not received:
            return None
        data += received
    spec: dict[str, Any] = json.loads(data)
    return spec


def _become_server(spec: dict[str, Any], report: int) -> None:
    """In the child: leave the session, confine, execute. Never returns."""
    try:
        os.setsid()
        linux.die_with_parent(signal.SIGKILL)
        for kind, limit in (
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, _DESCRIPTORS),
            # Counts what is writable and private: runtimes reserve far more addresses than that.
            (resource.RLIMIT_DATA, spec["memory_mb"] * 1024 * 1024),
        ):
            _lower(kind, limit)
        os.chdir(spec["cwd"])
        confine = spec["confine"]
        if confine is not None:
            own = os.path.dirname(os.path.realpath(spec["command"]))  # noqa: PTH120 - as in `paths`
            read = [*existing(SYSTEM), own, *confine["read"]]
            confine_to_paths(read, confine["write"], network=confine["network"])
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execve(spec["command"], [spec["command"], *spec["args"]], spec["env"])  # noqa: S606 - it is the operator's command
    except BaseException as error:  # noqa: BLE001 - the host is told, and nothing may run on
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        os.write(report, reason.encode()[:4000])
    finally:
        os._exit(_FAILED)


def _lower(kind: int, limit: int) -> None:
    hard = resource.getrlimit(kind)[1]
    lowered = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (lowered, lowered))


def _watch(lifeline: socket.socket, child: int) -> None:
    """Until the server exits, or the host closes the lifeline. Reaps orphans meanwhile."""
    pidfd = os.pidfd_open(child)
    waker, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: lifeline.shutdown(socket.SHUT_RD))
    while True:
        ready, _, _ = select.select([lifeline.fileno(), pidfd, waker], [], [])
        if lifeline.fileno() in ready and not lifeline.recv(4096):
            return
        if pidfd in ready:
            _, status = os.waitpid(child, 0)
            _say(lifeline, {"exit": os.waitstatus_to_exitcode(status)})
            return
        if waker in ready:
            os.read(waker, 4096)
            _reap(except_for=child)


def _reap(except_for: int) -> None:
    for pid in _children():
        if pid != except_for:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                continue


def _kill_descendants() -> None:
    """Kill all children until there are none: those of a killed one become ours."""
    until = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < until:
        for pid in _children():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    own, found = os.getpid(), []
    for name in os.listdir("/proc"):  # noqa: PTH208 - as in `paths`
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
                    fields = file.read(4096).rpartition(b")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == own:
                found.append(int(name))
    return found


def _say(lifeline: socket.socket, what: dict[str, Any]) -> None:
    try:
        lifeline.send(json.dumps(what).encode() + b"\n")
    except OSError:
        return  # the host is gone; its descendants are killed next


if __name__ == "__main__":
    main()
