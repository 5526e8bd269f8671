"""Read a secret from the memory of a process outside. Seccomp kills it."""

# stopped: killed
# alone: namespaces landlock seccomp
# control: works

secret = HOST["secret"].encode()
target = ctypes.create_string_buffer(len(secret))
there = (ctypes.c_size_t * 2)(HOST["address"], len(secret))
here = (ctypes.c_size_t * 2)(ctypes.addressof(target), len(secret))
raw("process_vm_readv", HOST["process"], here, 1, there, 1, 0) and target.raw == secret
