"""Make a file in memory, to be run by its descriptor.

Seccomp kills it; there is no exec either.
"""

# stopped: killed
# alone: seccomp rlimits
# control: works

os.memfd_create("program") >= 0
