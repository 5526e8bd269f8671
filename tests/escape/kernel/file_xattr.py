"""Write an extended attribute. Seccomp refuses it."""

# stopped: refused
# alone: none

os.setxattr("/", "user.escaped", b"1")
"written"
