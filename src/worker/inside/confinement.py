"""The kernel layers, applied once by the zygote and once more by every worker.

`confine_zygote` runs before any fork, `confine_worker` in the child before it reads a byte of its
channel. Both return what they achieved, layer by layer: nothing is switched off silently, and
whether less than everything is enough is for the host to say.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Container, Mapping

import msgspec

from caps.protocol.enforcement import Enforcement, Layer
from caps.worker.inside import kernel

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
        _enter_landlock_domain(version)
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


def _enter_landlock_domain(version: int) -> None:
    files = (1 << _FILE_RIGHTS_BY_ABI[min(version, 5)]) - 1
    network = _NETWORK_RIGHTS if version >= 4 else 0
    scopes = _SCOPES if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    kernel.landlock_nothing(files, network, scopes, size)


def confine_worker(program: bytes, without: Container[str]) -> None:
    """The last steps, in the child: a domain of its own, the limits, and the filter."""
    version = 0 if "landlock" in without else kernel.landlock_version()
    if version:
        # Inside the zygote's domain: whoever shares one may signal and trace each other.
        _enter_landlock_domain(version)
    if "rlimits" not in without:
        _limit()
    if program:
        kernel.load_seccomp(program)


def _limit() -> None:
    for kind, most in (
        # With 0 the kernel still runs a crash handler that `core_pattern` pipes to; with 1 not.
        (resource.RLIMIT_CORE, 1),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_NOFILE, 1),
    ):
        resource.setrlimit(kind, (most, most))
