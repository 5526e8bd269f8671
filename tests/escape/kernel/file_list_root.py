"""List the root directory. Seccomp refuses to open it; it is empty besides."""

# stopped: refused
# control: works

os.listdir("/")
