"""The system calls that confinement needs and that Python does not provide.

Runs in the zygote, and in a worker until it is confined.

Each function does one thing or raises OSError. Nothing here decides; `layers.py` does. The zygote
removes this module from `sys.modules`, so workers cannot find it.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from typing import Any, Final

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.mount.argtypes = (
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
)
_libc.prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUTS: Final = 0x04000000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_DUMPABLE: Final = 4
_PR_SET_SECCOMP: Final = 22
_PR_SET_CHILD_SUBREAPER: Final = 36
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
_SECCOMP_MODE_FILTER: Final = 2
_CAPABILITY_VERSION_3: Final = 0x20080522

# The arguments and the environment of a process are above the first frame, in the same mapping.
_STACK_MARGIN: Final = 1024 * 1024

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_REC, _MS_PRIVATE = 32, 16384, 1 << 18
_MNT_DETACH: Final = 2

# x86_64 and aarch64 have the same number for every system call that is newer than 2019.
_LANDLOCK_CREATE_RULESET: Final = 444
_LANDLOCK_ADD_RULE: Final = 445
_LANDLOCK_RESTRICT_SELF: Final = 446
_PIVOT_ROOT: Final = {"x86_64": 155, "aarch64": 41}
_CAPSET: Final = {"x86_64": 126, "aarch64": 91}


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _number_of(call: dict[str, int]) -> int:
    machine = os.uname().machine
    if machine not in call:
        raise OSError(errno.ENOSYS, f"no system call numbers are known for {machine}")
    return call[machine]


def tell_stack_size(size: int) -> None:
    """Tell the interpreter that the stack of this thread may grow to `size` bytes.

    Python 3.14 reads the limit when it starts, and aborts when the stack outgrows it. Does nothing
    where the interpreter or the C library has no function for it: then the first limit stays.
    """
    try:
        protect = ctypes.pythonapi.PyUnstable_ThreadState_SetStackProtection
        top = ctypes.c_void_p.in_dll(_libc, "__libc_stack_end").value or 0
    except (AttributeError, ValueError):
        return
    protect.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    current = ctypes.pythonapi.PyThreadState_Get
    current.restype = ctypes.c_void_p
    usable = size - _STACK_MARGIN
    _checked(protect(current(), top - usable, usable), "the protection of the stack")


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "unshare")


def die_with_parent(signal_number: int) -> None:
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0), "prctl")


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent has exited."""
    _checked(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def set_dumpable(dumpable: bool) -> None:
    _checked(_libc.prctl(_PR_SET_DUMPABLE, int(dumpable), 0, 0, 0), "prctl")


def no_new_privileges() -> None:
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def drop_capabilities() -> bool:
    """Empty all capability sets of this process; False if the bounding set cannot be emptied."""
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    number = 0
    while _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    stopped_by = ctypes.get_errno()  # EINVAL after the last number, EPERM without the privilege
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    empty = (ctypes.c_uint32 * 6)()
    call = _number_of(_CAPSET)
    _checked(_libc.syscall(call, ctypes.byref(header), ctypes.byref(empty)), "capset")
    return stopped_by == errno.EINVAL


def empty_root(point: bytes) -> None:
    """Make an empty, read-only directory the root of this mount namespace; `point` must exist."""
    _checked(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "mount")
    quiet = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _checked(_libc.mount(b"none", point, b"tmpfs", quiet, b"size=4k,mode=555"), "mount tmpfs")
    os.chdir(point)
    # Put the new root over the old one, then detach the old one: nothing of it can be reached.
    _checked(_libc.syscall(_number_of(_PIVOT_ROOT), b".", b"."), "pivot_root")
    _checked(_libc.umount2(b".", _MNT_DETACH), "umount")
    os.chdir("/")
    _checked(_libc.mount(None, b"/", None, _MS_REMOUNT | _MS_RDONLY | quiet, None), "remount")


class _LandlockRuleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


def landlock_version() -> int:
    """The Landlock ABI of the running kernel; 0 if it has no Landlock."""
    version = _libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, 1)
    return max(0, int(version))


def create_deny_all_ruleset(fs: int, net: int, scoped: int, size: int) -> int:
    """The descriptor of a new ruleset that handles these rights and allows none of them."""
    ruleset = _LandlockRuleset(fs, net, scoped)
    create = _libc.syscall(_LANDLOCK_CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    return _checked(create, "landlock_create_ruleset")


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"  # the only one that can be packed; Python 3.14 wants it said
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def allow_beneath(ruleset: int, path: str, rights: int) -> None:
    """Let the domain of `ruleset` have these rights at `path`, and below it if a directory."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _PathRule(rights, place)
        added = _libc.syscall(_LANDLOCK_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
        _checked(added, "landlock_add_rule")
    finally:
        os.close(place)


def enter_landlock_domain(ruleset: int) -> None:
    """Put this process and all that it forks into a new domain under `ruleset`, permanently."""
    _checked(_libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


PreparedCall = tuple[Callable[..., int | None], tuple[Any, ...]]

# The functions of prepared calls, without declared types and without a copy of `errno`: a worker
# that calls them creates no objects. Their arguments must be numbers of 32 bits or references.
_plain = ctypes.CDLL(None)


def prepared_filter(program: bytes) -> PreparedCall:
    """The call that puts a process under this filter, permanently. It fails unless it returns 0."""
    # The reference keeps the program, which the kernel reads at each call.
    filter_program = ctypes.byref(_FilterProgram(len(program) // 8, program))
    return _plain.prctl, (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, filter_program, 0, 0)


def prepared_landlock_domain(ruleset: int) -> PreparedCall:
    """The call of `enter_landlock_domain`. It fails unless it returns 0."""
    return _plain.syscall, (_LANDLOCK_RESTRICT_SELF, ruleset, 0)


def prepared_death_with_parent(signal_number: int) -> PreparedCall:
    """The call of `die_with_parent`. It fails unless it returns 0."""
    return _plain.prctl, (_PR_SET_PDEATHSIG, int(signal_number), 0, 0, 0)
