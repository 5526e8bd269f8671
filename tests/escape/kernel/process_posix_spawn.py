"""Start a program with posix_spawn. Seccomp kills it."""

# stopped: killed
# alone: root landlock seccomp rlimits
# control: works

child = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 0"], {})
os.waitpid(child, 0)[1] == 0
