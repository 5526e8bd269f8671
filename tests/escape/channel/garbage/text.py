"""Speak another protocol."""

# stopped: violation frame_too_large

worker.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
