"""Start a shell with os.system. Seccomp kills it."""

# stopped: killed
# control: works

os.system("exit 0") == 0
