"""Read a file of the host that the worker's user may read. Seccomp refuses to open it."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

open(HOST["file"]).read() == HOST["secret"]
