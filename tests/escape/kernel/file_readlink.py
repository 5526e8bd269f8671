"""Read where the interpreter lies from /proc/self/exe.

Seccomp refuses readlink; there is no /proc.
"""

# stopped: refused
# alone: root seccomp
# control: works

os.readlink("/proc/self/exe")
