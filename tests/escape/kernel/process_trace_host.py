"""Trace a process of the same user outside. Seccomp kills it; Landlock allows only its own."""

# stopped: killed
# alone: namespaces landlock seccomp
# control: works

raw("ptrace", 0x4206, HOST["process"], 0, 0) == 0
os.getpriority(os.PRIO_PROCESS, HOST["process"]) == HOST["nice"]
