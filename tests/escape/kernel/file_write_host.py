"""Write over a file of the host that the worker's user may write. Seccomp refuses to open it."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

with open(HOST["file"], "w") as file:
    file.write("out")
open(HOST["file"]).read() == "out"
