"""Leave the working directory. Seccomp refuses it."""

# stopped: refused
# alone: seccomp
# control: works

os.chdir("/")
"moved"
