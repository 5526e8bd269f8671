"""Learn the exact kernel, to choose an exploit for it. Seccomp refuses uname."""

# stopped: refused
# control: works

os.uname().release
