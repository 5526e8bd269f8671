"""Read /etc/passwd with the built-in `open`. Seccomp refuses to open; the root is also empty."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

with open("/etc/passwd") as file:
    content = file.read()
content
