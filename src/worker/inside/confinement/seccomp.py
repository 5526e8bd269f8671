"""The seccomp filter of a worker: what a computing process with one open socket needs, no more.

A system call that is not listed fails with EPERM, so that code which probes continues. A call that
is never legitimate kills the process immediately, and the host records how it ended.
"""

from __future__ import annotations

import errno
import os
import resource
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

_PROT_EXEC = 4
_MADV_GUARD_INSTALL = 102


def build_filter() -> bytes:
    """The encoded filter and its layer, for `parse_filter`.

    Built once, in a child of the zygote: workers must not have libseccomp or its dependencies.
    """
    return msgspec.msgpack.encode(_build())


def parse_filter(encoded: bytes) -> tuple[bytes, Layer]:
    """The filter in the kernel's format, and the layer to report."""
    return msgspec.msgpack.decode(encoded, type=tuple[bytes, Layer])


def _build() -> tuple[bytes, Layer]:
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError) as error:
        return b"", Layer(
            name="seccomp",
            enforcement=Enforcement.NOT,
            detail=f"libseccomp cannot be loaded: {error}",
            remedy="install libseccomp (debian: libseccomp2)",
        )
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    added = {pyseccomp.ALLOW: 0, pyseccomp.KILL_PROCESS: 0}
    for action, names in ((pyseccomp.ALLOW, ALLOWED), (pyseccomp.KILL_PROCESS, KILLED)):
        for name in names:
            # A call for which this machine or libseccomp has no number gets the default: EPERM.
            if pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) >= 0:
                rules.add_rule(action, name, *_conditions(pyseccomp, name))
                added[action] += 1
    _allow_own_limits(pyseccomp, rules)
    with suppress(OSError, RuntimeError):  # before 2.5, libseccomp can only build a list
        # A tree of comparisons: the kernel runs the filter for each number when a worker loads it.
        rules.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)
    return _export(rules), Layer(
        name="seccomp",
        enforcement=Enforcement.FULLY,
        detail=f"{added[pyseccomp.ALLOW] + 1} system calls allowed, "
        f"{added[pyseccomp.KILL_PROCESS]} kill",
    )


def _allow_own_limits(pyseccomp: Any, rules: Any) -> None:
    # A worker may set its limits of CPU time and memory, when it knows the policy's, and read the
    # others. It must not even lower those: from 1 to 0, the limit of core dumps would allow more.
    this_process = pyseccomp.Arg(0, pyseccomp.EQ, 0)
    read_only = pyseccomp.Arg(2, pyseccomp.EQ, 0)
    rules.add_rule(pyseccomp.ALLOW, "prlimit64", this_process, read_only)
    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS):
        rules.add_rule(
            pyseccomp.ALLOW, "prlimit64", this_process, pyseccomp.Arg(1, pyseccomp.EQ, kind)
        )


def _export(rules: Any) -> bytes:
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
