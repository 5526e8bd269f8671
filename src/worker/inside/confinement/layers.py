"""The kernel layers, applied once by the zygote and once more by every worker.

`confine_zygote` runs before any fork, `confine_worker` in the child before it reads a byte of its
channel. Both return what they achieved, layer by layer: nothing is switched off silently, and
whether less than everything is enough is for the host to say.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from caps.protocol.enforcement import Enforcement, Layer
from caps.worker.inside.confinement.layers import linux as kernel

# What the empty root is mounted over, in a namespace of our own: every system has it, as the maps
# of a user namespace are written through it.
_MOUNT_POINT = b"/proc"

# Who a worker is when Caps is started as root: the overflow user, who owns nothing.
_NOBODY = 65534

_NAMESPACES = {
    "pid": kernel.CLONE_NEWPID,
    "mount": kernel.CLONE_NEWNS,
    "net": kernel.CLONE_NEWNET,
    "ipc": kernel.CLONE_NEWIPC,
    "uts": kernel.CLONE_NEWUTS,
}

# Landlock by ABI: how many file rights, whether network (4) and scopes (6) are there.
_FILE_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NETWORK_RIGHTS = 0b11  # bind and connect, TCP
_SCOPES = 0b11  # abstract unix sockets, signals


_RLIMITS = Layer(
    name="rlimits",
    enforcement=Enforcement.FULLY,
    detail="address space, cpu, descriptors, processes, file size, core",
)
# Of the zygote and so of all that it forks: what neither of them ever needs.
_NEVER_NEEDED = (
    # With 0 the kernel still runs a crash handler that `core_pattern` pipes to; with 1 not.
    (resource.RLIMIT_CORE, 1),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_MSGQUEUE, 0),
    (resource.RLIMIT_MEMLOCK, 0),
)
# Of a worker: the zygote itself has a few descriptors, and forks.
_NOT_FOR_WORKERS = (
    (resource.RLIMIT_NPROC, 0),
    (resource.RLIMIT_NOFILE, 1),
)


def confine_zygote(without: Mapping[str, Layer]) -> list[Layer]:
    """Give up identity, namespaces, the file system and privileges. Runs with the host's rights.

    `without` has what to report of a layer that is not to be applied.
    """
    return [
        _applied(
            "identity",
            _drop_identity,
            "the system refused to change user; see its security modules",
        ),
        *_enter_namespaces(without),
        without.get("privileges") or _privileges(),
        without.get("landlock") or _landlock(),
    ]


def limit_zygote(without: Mapping[str, Layer]) -> Layer:
    """The limits that workers inherit; what remains of them is set by each worker itself."""
    if "rlimits" in without:
        return without["rlimits"]
    _limit(_NEVER_NEEDED)
    return _RLIMITS


def _applied(name: str, apply: Callable[[], str], remedy: str) -> Layer:
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
    # Changing user made /proc/self root's; the maps below have to be written by us.
    kernel.set_dumpable(True)
    return f"user {_NOBODY}, dropped from root"


def _enter_namespaces(without: Mapping[str, Layer]) -> list[Layer]:
    if "namespaces" in without:  # a root of our own would be the host's, too
        return [without["namespaces"], msgspec.structs.replace(without["namespaces"], name="root")]
    remedy = "allow unprivileged user namespaces (sysctl user.max_user_namespaces, apparmor)"
    try:
        uid, gid = os.getuid(), os.getgid()
        kernel.unshare(kernel.CLONE_NEWUSER | sum(_NAMESPACES.values()))
        _map_identity(uid, gid)
    except OSError as error:
        why = str(error.strerror)
        return [
            Layer(name=name, enforcement=Enforcement.NOT, detail=why, remedy=remedy)
            for name in ("namespaces", "root")
        ]
    entered = Layer(
        name="namespaces",
        enforcement=Enforcement.FULLY,
        detail="user, " + ", ".join(_NAMESPACES),
    )
    return [entered, without.get("root") or _applied("root", _empty_root, remedy)]


def _map_identity(uid: int, gid: int) -> None:
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
    kernel.empty_root(_MOUNT_POINT)
    return "empty, read-only"


def _privileges() -> Layer:
    try:
        kernel.no_new_privileges()
        # No tracer of the same user, a worker too, and no crash handler may look into us from here.
        kernel.set_dumpable(False)
        emptied = kernel.drop_capabilities()
    except OSError as error:
        return Layer(
            name="privileges", enforcement=Enforcement.NOT, detail=str(error.strerror), remedy=""
        )
    detail = "no_new_privs, no capabilities, not to be traced"
    if emptied:
        return Layer(name="privileges", enforcement=Enforcement.FULLY, detail=detail)
    return Layer(
        name="privileges",
        enforcement=Enforcement.PARTIALLY,
        detail=f"{detail}; the bounding set could not be emptied",
        remedy="mend the namespaces: inside one of its own, a process may",
    )


def _landlock() -> Layer:
    version = kernel.landlock_version()
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
            kernel.enter_landlock_domain(ruleset)
        finally:
            os.close(ruleset)
    except OSError as error:
        return Layer(
            name="landlock", enforcement=Enforcement.NOT, detail=str(error.strerror), remedy=""
        )
    full = version >= 6
    return Layer(
        name="landlock",
        enforcement=Enforcement.FULLY if full else Enforcement.PARTIALLY,
        detail=f"abi {version}: files{', tcp' * (version >= 4)}{', scopes' * full}",
        remedy="" if full else "boot Linux 6.12 or newer for signals and abstract sockets",
    )


def _ruleset(version: int) -> int:
    files = (1 << _FILE_RIGHTS_BY_ABI[min(version, 5)]) - 1
    network = _NETWORK_RIGHTS if version >= 4 else 0
    scopes = _SCOPES if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    return kernel.landlock_nothing(files, network, scopes, size)


@dataclass(frozen=True, slots=True)
class WorkerConfinement:
    """What the zygote made ready for `confine_worker`; without any layer that is left out."""

    ruleset: int | None  # the descriptor of Landlock's
    limits: tuple[tuple[int, int], ...]
    seccomp: kernel.SeccompFilter | None


def prepare_confinement(
    program: bytes, without: Container[str], descriptor: int
) -> WorkerConfinement:
    """Runs in the zygote, once it is confined itself; the ruleset gets this `descriptor`."""
    version = 0 if "landlock" in without else kernel.landlock_version()
    if version:
        ruleset = _ruleset(version)
        if ruleset != descriptor:
            os.dup2(ruleset, descriptor)
            os.close(ruleset)
    return WorkerConfinement(
        ruleset=descriptor if version else None,
        limits=() if "rlimits" in without else _NOT_FOR_WORKERS,
        seccomp=kernel.SeccompFilter(program) if program else None,
    )


def confine_worker(prepared: WorkerConfinement, channel: int) -> None:
    """The last steps, in the child: a domain of its own, one descriptor, the limits, the filter."""
    if prepared.ruleset is not None:
        # Inside the zygote's domain: whoever shares one may signal and trace each other.
        kernel.enter_landlock_domain(prepared.ruleset)
    os.closerange(channel + 1, 1 << 20)
    _limit(prepared.limits)
    if prepared.seccomp is not None:
        prepared.seccomp.load()


def _limit(limits: Iterable[tuple[int, int]]) -> None:
    for kind, most in limits:
        resource.setrlimit(kind, (most, most))
