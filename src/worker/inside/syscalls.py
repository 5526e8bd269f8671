"""The seccomp filter of a worker: what a computing process with one open socket needs, no more.

What is not listed fails with EPERM, so that code which probes goes on. What is never legitimate
kills the process at once, and the host records how it died.
"""

from __future__ import annotations

import errno
import os
from typing import Any

from caps.protocol.enforcement import Enforcement, Layer

ALLOWED = (
    # the channel
    "read readv write writev recvfrom sendto poll ppoll close fstat newfstatat lseek "
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


def prepare_filter() -> tuple[bytes, Layer]:
    """The filter as the kernel takes it, built once in the zygote, and how much of it there is."""
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
    unknown = []
    for action, names in ((pyseccomp.ALLOW, ALLOWED), (pyseccomp.KILL_PROCESS, KILLED)):
        for name in names:
            if pyseccomp.resolve_syscall(pyseccomp.system_arch(), name) < 0:
                unknown.append(name)
            else:
                rules.add_rule(action, name, *_conditions(pyseccomp, name))
    # A worker may lower its own limits, once it knows the policy's; nobody can raise them.
    rules.add_rule(pyseccomp.ALLOW, "prlimit64", pyseccomp.Arg(0, pyseccomp.EQ, 0))
    return _exported(rules), Layer(
        name="seccomp",
        enforcement=Enforcement.FULLY,
        detail=f"{len(ALLOWED) + 1} system calls allowed, {len(KILLED)} kill",
    )


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
