"""`Runtime` and its parts: options, executions, sessions, streams, results.

Nothing here decides about calls; the broker does.
"""
