"""Start a program with posix_spawn. Seccomp kills it."""

# stopped: killed
# control: works

import sys

child = os.posix_spawn(sys.executable, [sys.executable, "-I", "-c", ""], {})
os.waitpid(child, 0)
