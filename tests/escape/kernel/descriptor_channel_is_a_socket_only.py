"""See whether descriptor 0 leads to a file. It is a socket and nothing else."""

# stopped: harmless
# alone: none

import stat

not stat.S_ISSOCK(os.fstat(0).st_mode)
