"""Read memory by process number. Seccomp kills it."""

# stopped: killed
# alone: seccomp
# control: works

source, target = ctypes.create_string_buffer(b"secret"), ctypes.create_string_buffer(7)
there = (ctypes.c_size_t * 2)(ctypes.addressof(source), 6)
here = (ctypes.c_size_t * 2)(ctypes.addressof(target), 6)
raw("process_vm_readv", os.getpid(), here, 1, there, 1, 0) and target.value
