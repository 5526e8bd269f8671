"""Take four gigabytes. RLIMIT_AS refuses what is over `limits.memory_mb`."""

# stopped: harmless
# alone: none

kept = []
try:
    while len(kept) < 64:
        kept.append(bytearray(64 << 20))
except MemoryError:
    pass
taken, kept = len(kept), None
taken * 64 > 256
