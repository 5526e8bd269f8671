"""Start a program with `subprocess`. Seccomp refuses the pipe that it needs first."""

# stopped: refused
# control: works

import subprocess
import sys

subprocess.run([sys.executable, "-I", "-c", ""], check=True).returncode == 0
