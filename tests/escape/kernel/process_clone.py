"""Start a process with a bare clone. Seccomp kills it."""

# stopped: killed
# alone: seccomp rlimits
# control: works

child = raw("clone", 17, 0, 0, 0, 0)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
