"""The seccomp filter of a worker: what a computing process with one open socket needs, no more.

A system call that is not listed fails with EPERM, so that code which probes continues. A call that
is never legitimate kills the process immediately, and the host records how it ended.

The filter is loaded in two parts, because a worker pays for what it loads itself. The zygote loads
the first part for itself and all of its workers: the whole filter, but with the calls of `ZYGOTE`
allowed. A worker adds the second part, which only restricts those calls. The kernel asks both, and
the stricter answer counts. So a worker is under the whole filter, call by call.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import msgspec

from caps.protocol.enforcement import Enforcement, Layer

ALLOWED = (
    # the channel; not sendto and recvfrom, whose flags enable rare features (MSG_OOB)
    "read readv write writev poll ppoll close fstat newfstatat lseek "
    # memory
    "brk mmap munmap mremap madvise "
    # time and random numbers
    "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time getrandom "
    # signal returns, locks, own ids, exit
    "rt_sigreturn rt_sigprocmask sigaltstack restart_syscall futex sched_yield getrusage "
    "getpid gettid getuid geteuid getgid getegid exit exit_group"
).split()

KILLED = (
    # other programs and processes
    "execve execveat fork vfork clone clone3 ptrace process_vm_readv process_vm_writev kcmp "
    "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_getfd pidfd_send_signal "
    # the network
    "socket socketpair connect bind listen accept accept4 "
    # the kernel's own machinery
    "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register keyctl "
    "add_key request_key init_module finit_module delete_module kexec_load kexec_file_load "
    "reboot iopl ioperm modify_ldt personality quotactl swapon swapoff acct syslog "
    # the file system, other than by path
    "mount umount2 pivot_root chroot unshare setns open_by_handle_at name_to_handle_at "
    "fanotify_init memfd_create memfd_secret move_mount open_tree fsopen fsmount "
    # identity and the sandbox itself
    "setuid setgid setreuid setregid setresuid setresgid setgroups capset prctl seccomp "
    "sethostname setdomainname settimeofday clock_settime"
).split()

ZYGOTE = (
    # What the zygote does from its first worker on: orders, forks, exits of workers.
    "recvmsg sendmsg clone fork set_robust_list set_tid_address pidfd_open wait4 kill "
    # What a worker does before it adds the second part. It also sets `OWN_LIMITS`.
    "prctl dup2 dup3 close_range landlock_restrict_self"
).split()

# The limits that a worker sets before it adds the second part, and those that it may always set.
OWN_LIMITS = (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE)
_FREE_LIMITS = (resource.RLIMIT_CPU, resource.RLIMIT_AS)

_PROT_EXEC = 4
_MADV_GUARD_INSTALL = 102


class Filters(msgspec.Struct, frozen=True):
    """Both parts in the kernel's format, and the layer to report. Empty if they cannot be built."""

    zygote: bytes
    worker: bytes
    layer: Layer


def build_filters() -> bytes:
    """The encoded filters, for `parse_filters`.

    Built once, in a child of the zygote: workers must not have libseccomp or its dependencies.
    """
    return msgspec.msgpack.encode(_build())


def parse_filters(encoded: bytes) -> Filters:
    return msgspec.msgpack.decode(encoded, type=Filters)


def _build() -> Filters:
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError) as error:
        layer = Layer(
            name="seccomp",
            enforcement=Enforcement.NOT,
            detail=f"libseccomp cannot be loaded: {error}",
            remedy="install libseccomp (debian: libseccomp2)",
        )
        return Filters(b"", b"", layer)
    allowed, killed = _known(pyseccomp, ALLOWED), _known(pyseccomp, KILLED)
    layer = Layer(
        name="seccomp",
        enforcement=Enforcement.FULLY,
        detail=f"{len(allowed) + 1} system calls allowed, {len(killed)} kill",
    )
    return Filters(
        export_filter(pyseccomp, zygote_rules(pyseccomp)),
        export_filter(pyseccomp, worker_rules(pyseccomp)),
        layer,
    )


def whole_rules(pyseccomp: Any) -> Any:
    """The rules that a worker is under: the definition of what both parts together are."""
    return _rules(pyseccomp, ALLOWED, KILLED, _FREE_LIMITS)


def zygote_rules(pyseccomp: Any) -> Any:
    """The first part: the calls of `ZYGOTE` and `OWN_LIMITS` are allowed as well."""
    killed = [name for name in KILLED if name not in ZYGOTE]
    return _rules(pyseccomp, [*ALLOWED, *ZYGOTE], killed, (*_FREE_LIMITS, *OWN_LIMITS))


def worker_rules(pyseccomp: Any) -> Any:
    """The second part: for the calls of `ZYGOTE` and `OWN_LIMITS`, what the whole filter says."""
    refuse = pyseccomp.ERRNO(errno.EPERM)
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in _known(pyseccomp, ZYGOTE):
        rules.add_rule(pyseccomp.KILL_PROCESS if name in KILLED else refuse, name)
    for kind in OWN_LIMITS:
        this_kind, changed = pyseccomp.Arg(1, pyseccomp.EQ, kind), pyseccomp.Arg(2, pyseccomp.NE, 0)
        rules.add_rule(refuse, "prlimit64", this_kind, changed)
    return rules


def _rules(
    pyseccomp: Any, allowed: Iterable[str], killed: Iterable[str], limits: Iterable[int]
) -> Any:
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    for action, names in ((pyseccomp.ALLOW, allowed), (pyseccomp.KILL_PROCESS, killed)):
        for name in _known(pyseccomp, names):
            rules.add_rule(action, name, *_conditions(pyseccomp, name))
    # A worker may set its limits of CPU time and memory, when it knows the policy's, and read the
    # others. It must not even lower those: from 1 to 0, the limit of core dumps would allow more.
    this_process = pyseccomp.Arg(0, pyseccomp.EQ, 0)
    read_only = pyseccomp.Arg(2, pyseccomp.EQ, 0)
    rules.add_rule(pyseccomp.ALLOW, "prlimit64", this_process, read_only)
    for kind in limits:
        this_kind = pyseccomp.Arg(1, pyseccomp.EQ, kind)
        rules.add_rule(pyseccomp.ALLOW, "prlimit64", this_process, this_kind)
    return rules


def _known(pyseccomp: Any, names: Iterable[str]) -> list[str]:
    """Without calls for which this machine or libseccomp has no number: they get the default."""
    machine = pyseccomp.system_arch()
    return [name for name in names if pyseccomp.resolve_syscall(machine, name) >= 0]


def export_filter(pyseccomp: Any, rules: Any) -> bytes:
    """The rules in the kernel's format."""
    with suppress(OSError, RuntimeError):  # before 2.5, libseccomp can only build a list
        # A tree of comparisons: the kernel runs the filter for each number when it is loaded.
        rules.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)
    descriptor = os.memfd_create("filter")
    with open(descriptor, "w+b") as file:  # noqa: PTH123 - it has no path
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _conditions(pyseccomp: Any, name: str) -> tuple[Any, ...]:
    # Memory may be mapped, but never as executable: no new machine code.
    if name == "mmap":
        return (pyseccomp.Arg(2, pyseccomp.MASKED_EQ, _PROT_EXEC, 0),)
    # The C library protects the stack of a new thread with `mprotect` or, from glibc 2.42 on, with
    # this advice. Without both, a library that starts a thread gets an error; `clone` would kill.
    if name == "madvise":
        return (pyseccomp.Arg(2, pyseccomp.LT, _MADV_GUARD_INSTALL),)
    return ()
