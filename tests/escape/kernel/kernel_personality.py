"""Ask for mappings that are all executable, or for no address randomisation. Seccomp kills it."""

# stopped: killed
# alone: seccomp
# control: works

raw("personality", 0xFFFFFFFF) >= 0
