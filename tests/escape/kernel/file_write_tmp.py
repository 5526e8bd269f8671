"""Write into /tmp, which every program may. Seccomp refuses it; this root has no /tmp."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

path = f"/tmp/caps-escape-attempt-{os.getpid()}"
with open(path, "w") as file:
    file.write("out")
os.unlink(path)
"written"
