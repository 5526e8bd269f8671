"""The seccomp filter of a worker: what a computing process with one open socket needs, no more.

What is not listed fails with EPERM, so that code which probes goes on. What is never legitimate
kills the process at once, and the host records how it died.
"""

from __future__ import annotations

import errno
import os
import resource
from typing import Any

import msgspec

from caps.protocol.enforcement import Enforcement, Layer

ALLOWED = (
    # the channel; not sendto and recvfrom, whose flags reach corners of unix sockets (MSG_OOB)
    "read readv write writev poll ppoll close fstat newfstatat lseek "
    # memory
    "brk mmap munmap mremap madvise "
    # time and chance
    "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time getrandom "
    # signal returns, locks, who am I, and the way out
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
    # the file system from behind
    "mount umount2 pivot_root chroot unshare setns open_by_handle_at name_to_handle_at "
    "fanotify_init memfd_create memfd_secret move_mount open_tree fsopen fsmount "
    # identity and the sandbox itself
    "setuid setgid setreuid setregid setresuid setresgid setgroups capset prctl seccomp "
    "sethostname setdomainname settimeofday clock_settime"
).split()

_PROT_EXEC = 4


def prepared_filter() -> bytes:
    """The filter and how much of it there is, for `understood_filter`.

    Built once, in a child of the zygote: a worker is to hold neither libseccomp nor what it needs.
    """
    return msgspec.msgpack.encode(_made())


def understood_filter(prepared: bytes) -> tuple[bytes, Layer]:
    """The filter as the kernel takes it, and the layer that it is."""
    return msgspec.msgpack.decode(prepared, type=tuple[bytes, Layer])


def _made() -> tuple[bytes, Layer]:
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
            # A call that this machine or libseccomp has no number for falls to the default: EPERM.
            if pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) >= 0:
                rules.add_rule(action, name, *_conditions(pyseccomp, name))
                added[action] += 1
    _allow_own_limits(pyseccomp, rules)
    return _exported(rules), Layer(
        name="seccomp",
        enforcement=Enforcement.FULLY,
        detail=f"{added[pyseccomp.ALLOW] + 1} system calls allowed, "
        f"{added[pyseccomp.KILL_PROCESS]} kill",
    )


def _allow_own_limits(pyseccomp: Any, rules: Any) -> None:
    # A worker may lower its processor time and memory, once it knows the policy's, and look at the
    # others. Not lower them: from 1 to 0, the limit of core dumps would allow more.
    own = pyseccomp.Arg(0, pyseccomp.EQ, 0)
    only_looking = pyseccomp.Arg(2, pyseccomp.EQ, 0)
    rules.add_rule(pyseccomp.ALLOW, "prlimit64", own, only_looking)
    for kind in (resource.RLIMIT_CPU, resource.RLIMIT_AS):
        rules.add_rule(pyseccomp.ALLOW, "prlimit64", own, pyseccomp.Arg(1, pyseccomp.EQ, kind))


def _exported(rules: Any) -> bytes:
    descriptor = os.memfd_create("filter")
    with open(descriptor, "w+b") as file:  # noqa: PTH123 - it has no path
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _conditions(pyseccomp: Any, name: str) -> tuple[Any, ...]:
    # Memory may be mapped, never to be executed: no code but what was there before.
    if name == "mmap":
        return (pyseccomp.Arg(2, pyseccomp.MASKED_EQ, _PROT_EXEC, 0),)
    return ()
