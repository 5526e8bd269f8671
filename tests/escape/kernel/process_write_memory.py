"""Write into the memory of the zygote. Seccomp kills it."""

# stopped: killed
# alone: seccomp

there = here = (ctypes.c_size_t * 2)(0, 0)
raw("process_vm_writev", 1, here, 1, there, 1, 0) >= 0
