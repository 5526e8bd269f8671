"""Write into the memory of a process outside. Seccomp kills it."""

# stopped: killed
# alone: namespaces landlock seccomp
# control: works

secret = HOST["secret"].encode()
source = ctypes.create_string_buffer(secret)
there = (ctypes.c_size_t * 2)(HOST["address"], len(secret))
here = (ctypes.c_size_t * 2)(ctypes.addressof(source), len(secret))
raw("process_vm_writev", HOST["process"], here, 1, there, 1, 0) == len(secret)
