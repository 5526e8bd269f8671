"""Write an extended attribute. Seccomp refuses it."""

# stopped: refused

os.setxattr("/", "user.escaped", b"1")
"written"
