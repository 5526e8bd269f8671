"""Start a thread.

Seccomp refuses to guard its stack, or kills the clone: a worker has one thread.
"""

# stopped: harmless or killed
# alone: seccomp rlimits
# control: works

import threading

ran = []
thread = threading.Thread(target=ran.append, args=("ran",))
try:
    thread.start()
    thread.join()
except RuntimeError:
    pass
ran
