"""Claim a version of the protocol that does not exist."""

# stopped: violation version
# when: before_ready

worker.raw(worker.ready(protocol=99))
