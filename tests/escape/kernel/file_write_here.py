"""Write a file into the working directory. Seccomp refuses it; the root is also read-only."""

# stopped: refused
# alone: identity
# control: works

with open("escaped", "w") as file:
    file.write("out")
os.path.getsize("escaped")
