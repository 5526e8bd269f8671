"""The kernel layers, applied once by the zygote and once more by every worker.

`confine_zygote` runs before any fork, `confine_worker` in the child before it reads a byte of its
channel. `confine_zygote` and `limit_zygote` return what was achieved, layer by layer: nothing is
switched off silently, and the host decides whether less than all layers is enough.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Container, Iterable, Iterator, Mapping

import msgspec

from caps.protocol.enforcement import Enforcement, Layer
from caps.worker.inside.confinement import linux
from caps.worker.inside.confinement.rlimits import within_hard_limit

# The directory that the empty root is mounted over, in a mount namespace of our own. Every system
# has it, because the id maps of a user namespace are written through it.
_MOUNT_POINT = b"/proc"

# The user of a worker when Caps is started as root: the overflow user, who owns nothing.
_NOBODY = 65534

_NAMESPACES = {
    "pid": linux.CLONE_NEWPID,
    "mount": linux.CLONE_NEWNS,
    "net": linux.CLONE_NEWNET,
    "ipc": linux.CLONE_NEWIPC,
    "uts": linux.CLONE_NEWUTS,
}

# Landlock by ABI: the number of file rights. Network rights exist since 4, scopes since 6.
FILE_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
NETWORK_RIGHTS = 0b11  # bind and connect, TCP
SCOPES = 0b11  # abstract unix sockets, signals


_RLIMITS = Layer(
    name="rlimits",
    enforcement=Enforcement.FULLY,
    detail="address space, cpu, descriptors, processes, file size, core",
)
# The limits of the zygote, inherited by all workers: resources that none of them needs.
_ZYGOTE_LIMITS = (
    # With 0 the kernel still runs a crash handler that `core_pattern` pipes to; with 1 it does not.
    # Where the hard limit is 0, it stays 0; a process that is not dumpable has no core dump either.
    (resource.RLIMIT_CORE, 1),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_MSGQUEUE, 0),
    (resource.RLIMIT_MEMLOCK, 0),
)
# Nested iterators and values recurse in C without a check. With this much stack, the memory limit
# bounds most of them. The kernel leaves at least 128 MiB below the stack free of other mappings.
_STACK_BYTES = 96 * 1024 * 1024
_NESTED_MAPS = 4000  # each takes 128 bytes of stack
# The limits of workers only: the zygote itself has a few descriptors, and forks.
_WORKER_LIMITS = (
    (resource.RLIMIT_NPROC, 0),
    (resource.RLIMIT_NOFILE, 1),
)


def confine_zygote(without: Mapping[str, Layer]) -> list[Layer]:
    """Give up identity, namespaces, the file system and privileges. Runs with the host's rights.

    `without` has the layers that are not to be applied, each as it is reported.
    """
    return [
        _apply(
            "identity",
            _drop_identity,
            "the system refused to change user; see its security modules",
        ),
        *_enter_namespaces(without),
        without.get("privileges") or _privileges(),
        without.get("landlock") or _landlock(),
    ]


def limit_zygote(without: Mapping[str, Layer]) -> Layer:
    """Set the limits that workers inherit; each worker sets the remaining ones itself."""
    if "rlimits" in without:
        return without["rlimits"]
    _limit(_ZYGOTE_LIMITS)
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    stack = within_hard_limit(resource.RLIMIT_STACK, _STACK_BYTES)
    resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
    linux.tell_stack_size(stack)
    _grow_stack()
    return _RLIMITS


def _grow_stack() -> None:
    """Use half a megabyte of the stack once, and so keep it mapped in all workers.

    A worker that is out of memory could not get another page of it, and would die without a report.
    """
    nested: Iterator[object] = iter(())
    for _ in range(_NESTED_MAPS):
        nested = map(id, nested)
    next(nested, None)


def _apply(name: str, apply: Callable[[], str], remedy: str) -> Layer:
    try:
        return Layer(name=name, enforcement=Enforcement.FULLY, detail=apply())
    except OSError as error:
        return Layer(
            name=name, enforcement=Enforcement.NOT, detail=str(error.strerror), remedy=remedy
        )


def _drop_identity() -> str:
    if os.geteuid() != 0:
        return f"user {os.geteuid()}"
    os.setgroups([])
    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    # After the change of user, root owns /proc/self; we have to write the id maps there later.
    linux.set_dumpable(True)
    return f"user {_NOBODY}, dropped from root"


def _enter_namespaces(without: Mapping[str, Layer]) -> list[Layer]:
    if "namespaces" in without:  # without them, an empty root would be the host's root, too
        return [without["namespaces"], msgspec.structs.replace(without["namespaces"], name="root")]
    remedy = "allow unprivileged user namespaces (sysctl user.max_user_namespaces, apparmor)"
    try:
        uid, gid = os.getuid(), os.getgid()
        linux.unshare(linux.CLONE_NEWUSER | sum(_NAMESPACES.values()))
        map_identity(uid, gid)
    except OSError as error:
        reason = str(error.strerror)
        return [
            Layer(name=name, enforcement=Enforcement.NOT, detail=reason, remedy=remedy)
            for name in ("namespaces", "root")
        ]
    namespaces = Layer(
        name="namespaces",
        enforcement=Enforcement.FULLY,
        detail="user, " + ", ".join(_NAMESPACES),
    )
    return [namespaces, without.get("root") or _apply("root", _empty_root, remedy)]


def map_identity(uid: int, gid: int) -> None:
    """Keep user and group in the user namespace that was just entered. Raises OSError."""
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def _empty_root() -> str:
    linux.empty_root(_MOUNT_POINT)
    return "empty, read-only"


def _privileges() -> Layer:
    try:
        linux.no_new_privileges()
        # From here on no tracer of the same user (such as a worker) and no crash handler may read
        # our memory.
        linux.set_dumpable(False)
        is_emptied = linux.drop_capabilities()
    except OSError as error:
        return Layer(
            name="privileges", enforcement=Enforcement.NOT, detail=str(error.strerror), remedy=""
        )
    detail = "no_new_privs, no capabilities, not to be traced"
    if is_emptied:
        return Layer(name="privileges", enforcement=Enforcement.FULLY, detail=detail)
    return Layer(
        name="privileges",
        enforcement=Enforcement.PARTIALLY,
        detail=f"{detail}; the bounding set could not be emptied",
        remedy="enable user namespaces: in one of its own, a process may empty it",
    )


def _landlock() -> Layer:
    version = linux.landlock_version()
    if version == 0:
        return Layer(
            name="landlock",
            enforcement=Enforcement.NOT,
            detail="the kernel has none",
            remedy="boot Linux 6.12 or newer with landlock among the LSMs",
        )
    try:
        ruleset = _ruleset(version)
        try:
            linux.enter_landlock_domain(ruleset)
        finally:
            os.close(ruleset)
    except OSError as error:
        return Layer(
            name="landlock", enforcement=Enforcement.NOT, detail=str(error.strerror), remedy=""
        )
    is_full = version >= 6
    return Layer(
        name="landlock",
        enforcement=Enforcement.FULLY if is_full else Enforcement.PARTIALLY,
        detail=f"abi {version}: files{', tcp' * (version >= 4)}{', scopes' * is_full}",
        remedy="" if is_full else "boot Linux 6.12 or newer for signals and abstract sockets",
    )


def _ruleset(version: int) -> int:
    files = (1 << FILE_RIGHTS_BY_ABI[min(version, 5)]) - 1
    network = NETWORK_RIGHTS if version >= 4 else 0
    scopes = SCOPES if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    return linux.create_deny_all_ruleset(files, network, scopes, size)


# The steps of `confine_worker`, prepared by the zygote: calls with their arguments. A child copies
# each page that it writes to, and Python writes to every object that it uses. So a worker looks up
# nothing: it makes these calls, one after the other. None and 0 mean success.
WorkerConfinement = tuple[linux.PreparedCall, ...]


def prepare_confinement(
    program: bytes, without: Container[str], descriptor: int, channel: int
) -> WorkerConfinement:
    """Runs in the zygote, after it is confined itself. `descriptor` will be the ruleset's.

    A Landlock domain of the worker's own, within the zygote's: processes of one domain may signal
    and trace each other. Then one descriptor, the limits, the filter. Layers in `without` are left
    out.
    """
    version = 0 if "landlock" in without else linux.landlock_version()
    if version:
        ruleset = _ruleset(version)
        if ruleset != descriptor:
            os.dup2(ruleset, descriptor)
            os.close(ruleset)
    steps: list[linux.PreparedCall] = []
    if version:
        steps.append(linux.prepared_landlock_domain(descriptor))
    steps.append((os.closerange, (channel + 1, 1 << 20)))
    if "rlimits" not in without:
        for kind, limit in _WORKER_LIMITS:
            lowered = within_hard_limit(kind, limit)
            steps.append((resource.setrlimit, (kind, (lowered, lowered))))
    if program:
        steps.append(linux.prepared_filter(program))
    return tuple(steps)


def filter_zygote(program: bytes) -> None:
    """The last step of the zygote: its part of the filter, which its workers inherit. OSError."""
    if program:
        call, arguments = linux.prepared_filter(program)
        if call(*arguments):
            raise OSError("the zygote could not be confined")


def confine_worker(prepared: WorkerConfinement) -> None:
    """The last steps, in the child, before it reads a byte of its channel. Raises OSError."""
    for call, arguments in prepared:
        if call(*arguments):
            raise OSError("a worker could not be confined")


def _limit(limits: Iterable[tuple[int, int]]) -> None:
    for kind, limit in limits:
        lowered = within_hard_limit(kind, limit)
        resource.setrlimit(kind, (lowered, lowered))
