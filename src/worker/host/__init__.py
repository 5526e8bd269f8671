"""The host's end of a worker: starting, watching and killing it. Never imports what runs inside."""
