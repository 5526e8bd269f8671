"""Walk out by `..`. Seccomp refuses to open; the parent of the root is the root."""

# stopped: refused
# alone: landlock seccomp rlimits
# control: works

[entry.name for entry in os.scandir("..")] + ["listed"]
