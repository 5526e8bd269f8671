"""Fill the disk of the host. Seccomp refuses to open; RLIMIT_FSIZE is 0."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

with open(HOST["directory"] + "/large", "wb") as file:
    file.write(bytes(1 << 20))
os.path.getsize(HOST["directory"] + "/large")
