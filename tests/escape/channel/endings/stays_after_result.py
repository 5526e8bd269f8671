"""Send the result and do not exit."""

# stopped: harmless
# value: "done"

import signal

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
worker.finish("done")
while True:
    signal.pause()
