"""Measure other processes with performance counters. Seccomp kills it."""

# stopped: killed
# alone: seccomp

raw("perf_event_open", ctypes.create_string_buffer(128), 0, -1, -1, 0) >= 0
