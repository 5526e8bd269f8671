"""Be done and stay, whatever it is asked."""

# stopped: harmless
# value: "done"

import signal

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
liar.finish("done")
while True:
    signal.pause()
