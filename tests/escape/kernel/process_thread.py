"""Start a thread.

Seccomp refuses to guard its stack, and would kill the clone: a worker has one.
"""

# stopped: harmless
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
