"""Write a file into the working directory. Seccomp refuses it; the root is read-only besides."""

# stopped: refused
# alone: identity
# control: works

with open("escaped", "w") as file:
    file.write("out")
os.path.getsize("escaped")
