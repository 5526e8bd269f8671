"""Leave a symbolic link for others to follow. Seccomp refuses it; Landlock does."""

# stopped: refused
# alone: root landlock seccomp
# control: works

os.symlink("/etc/passwd", HOST["directory"] + "/escaped")
"linked"
