"""Write into /tmp, which every program may. Seccomp refuses it; this root has no /tmp."""

# stopped: refused

with open("/tmp/caps-escape-attempt", "w") as file:
    file.write("out")
"written"
