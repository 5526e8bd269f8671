"""Leave the working directory. Seccomp refuses it."""

# stopped: refused
# control: works

os.chdir("/")
"moved"
