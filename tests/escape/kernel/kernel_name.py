"""Learn the exact kernel, to choose an exploit for it. Seccomp refuses uname."""

# stopped: refused
# alone: seccomp
# control: works

os.uname().release
