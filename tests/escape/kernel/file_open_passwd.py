"""Read /etc/passwd with the built-in `open`. Seccomp refuses to open; the root is empty besides."""

# stopped: refused
# control: works

with open("/etc/passwd") as file:
    content = file.read()
content
