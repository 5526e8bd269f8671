"""Probe a process of the same user outside. Seccomp kills it; Landlock scopes signals."""

# stopped: killed
# alone: namespaces landlock seccomp
# control: works

os.kill(HOST["process"], 0)
os.getpriority(os.PRIO_PROCESS, HOST["process"]) == HOST["nice"]
