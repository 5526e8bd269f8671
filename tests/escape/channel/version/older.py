"""Claim a version of the protocol that was never there."""

# stopped: violation version
# when: before_ready

worker.raw(worker.ready(protocol=0))
