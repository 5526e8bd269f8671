"""Start a program with `subprocess`. Seccomp refuses the pipe that it needs first."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

import subprocess

subprocess._USE_POSIX_SPAWN = False  # that is an attack of its own
subprocess.run(["/bin/sh", "-c", "exit 0"], check=True).returncode == 0
