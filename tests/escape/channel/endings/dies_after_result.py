"""Give a result and die of a signal at once."""

# stopped: harmless
# value: "done"

import os
import signal

liar.finish("done")
os.kill(os.getpid(), signal.SIGSEGV)
