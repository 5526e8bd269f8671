"""Map memory that can be written and executed. Seccomp refuses PROT_EXEC in mmap."""

# stopped: refused
# alone: seccomp
# control: works

import mmap

len(mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC))
