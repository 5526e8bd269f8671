"""Send the handshake without end."""

# stopped: violation out_of_turn
# when: before_ready

for _ in range(100_000):
    worker.raw(worker.ready())
