"""Fork by its x32 number, which filters forget. Seccomp kills every x32 call."""

# stopped: killed
# alone: seccomp
# only: x86_64

raw(0x40000000 | 57) > 0
