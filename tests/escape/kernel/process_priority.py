"""Change its own priority. Seccomp refuses it."""

# stopped: refused
# alone: seccomp

os.setpriority(os.PRIO_PROCESS, 0, 19)  # the lowest: nothing else refuses it
"changed"
