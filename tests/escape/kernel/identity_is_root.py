"""See whether one is root as it is. The zygote gave that up."""

# stopped: harmless
# alone: none

0 in (os.getuid(), os.geteuid(), os.getgid(), os.getegid())
