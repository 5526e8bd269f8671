"""Fork. Seccomp kills it; RLIMIT_NPROC would refuse it."""

# stopped: killed
# alone: seccomp rlimits
# control: works

child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
